"""What is said of steps that are not alike; durations by hand."""

import pytest

from tests.analysis.making import Event, analysed, kernel, launch, op
from tracelens_tui.analysis.info import info_lines
from tracelens_tui.analysis.steady import steps_note


def steps_of(*lengths: float, first: int = 4, dead: tuple[int, ...] = ()) -> list[Event]:
    """Steps one after another, in µs, each with a launch but for the ``dead`` ones (places in the list)."""
    events: list[Event] = []
    ts = 0.0
    for place, dur in enumerate(lengths):
        name = f"ProfilerStep#{first + place}"
        mark = {"ph": "X", "cat": "user_annotation", "name": name, "ts": ts, "dur": dur, "pid": 1, "tid": 1, "args": {}}
        events.append(mark)
        if place not in dead:
            events += [op("aten::relu", ts, 5), launch(place + 1, ts + 1), kernel("relu", ts + 6, 2, place + 1)]
        ts += dur
    return events


@pytest.mark.parametrize(
    ("lengths", "note"),
    [
        ((100, 100, 100), ""),
        ((100, 140, 100), ""),
        ((300,), ""),
        ((), ""),
        (
            (300, 100, 110, 100),
            "ProfilerStep#4 lasts 300 µs and the steps after it 100 µs in the median: look at those alone with "
            "--steps 5-7.",
        ),
        (
            (900, 200, 100, 120),
            "ProfilerStep#4 to #5 last up to 900 µs and the steps after it 110 µs in the median: look at those alone "
            "with --steps 6-7.",
        ),
        (
            (100, 100, 300),
            "The 3 steps with GPU work last from 100 µs (ProfilerStep#4) to 300 µs (#6): look at one of them alone "
            "with --step 6.",
        ),
        (
            (300, 100),
            "The 2 steps with GPU work last from 100 µs (ProfilerStep#5) to 300 µs (#4): look at one of them alone "
            "with --step 4.",
        ),
    ],
)
def test_warm_up_and_unequal_steps(lengths: tuple[float, ...], note: str):
    events = steps_of(*lengths) or [kernel("lost", 0, 1)]
    assert steps_note(analysed(events)) == note
    assert [line for line in info_lines(analysed(events)) if line.startswith("Steps")] == [f"Steps     {note}"] * bool(
        note
    )


def test_steps_without_gpu_work_are_not_compared():
    assert steps_note(analysed(steps_of(100, 100, 9, dead=(2,)))) == ""
