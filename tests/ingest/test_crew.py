"""Helping processes: the Trace is the same with them, whatever they refuse, and without them when they die."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.ingest.making import document, event, head, load, same, sample, text
from tracelens_tui.ingest import crew as crew_module
from tracelens_tui.ingest import reading
from tracelens_tui.ingest.crew import crew_of
from tracelens_tui.ingest.objects import trace_from_objects

SIZES = {"stretch": 3000, "slot": 12_000}
STEPS = 150


@pytest.fixture(scope="module")
def events():
    return sample(STEPS)


@pytest.fixture(scope="module")
def data(events):
    return text({**head(), "traceEvents": events})


@pytest.mark.parametrize("helpers", [1, 3])
def test_the_trace_is_the_same(tmp_path, events, data, helpers):
    same(load(tmp_path, data, helpers=helpers, **SIZES), trace_from_objects(events, metadata=head()))


def test_processes_take_part(tmp_path, data, monkeypatch):
    taken = []
    real = crew_module._Worker.take
    monkeypatch.setattr(crew_module._Worker, "take", lambda self: taken.append(1) or real(self))
    load(tmp_path, data, helpers=1, **SIZES)
    assert len(taken) >= 2


@pytest.mark.parametrize("broken", [(5,), (300, 301), (20, 250, 400, 610, 611, 700)], ids=str)
def test_broken_events_are_salvaged_and_the_rest_is_kept(tmp_path, events, broken):
    """An unquoted word where a name belongs: these events are lost, all others stay, in order."""
    texts = [text(item) for item in events]
    for at in broken:
        texts[at] = texts[at].replace(b'"name":', b'"name":!', 1)
    data = text(head())[:-1] + b',"traceEvents":[' + b",".join(texts) + b"]}"
    alone = load(tmp_path, data, helpers=0, **SIZES)
    together = load(tmp_path, data, helpers=2, **SIZES)
    same(together, alone)
    assert together.quality == alone.quality
    assert together.metadata.phase_counts == alone.metadata.phase_counts


def test_bytes_that_are_no_utf8_among_sound_stretches(tmp_path, events):
    texts = [text(item) for item in events]
    texts[333] = texts[333].replace(b"a", b"\xff", 1)
    data = b"[" + b",".join(texts) + b"]"
    together = load(tmp_path, data, helpers=2, **SIZES)
    same(together, load(tmp_path, data, helpers=0, **SIZES))
    repaired = together.quality.get("repaired_text")
    assert repaired is not None
    assert repaired.count == 1


def test_times_that_floats_cannot_tell(tmp_path):
    """Nine decimals in the middle of the file: read by their digits there, rounded and counted."""
    events = [event("cpu_op", f"op{at % 7}", f"{1000 + at}.25", "0.5", 1, 1) for at in range(2000)]
    events[1500] = event("cpu_op", "op", "1000000000001.123456789", "0.5", 1, 1)
    trace = load(tmp_path, text({**head(), "traceEvents": events}), helpers=1, **SIZES)
    same(trace, trace_from_objects(events, metadata=head()))
    assert trace.events["start_ns"][1500] == 1_000_000_000_001_123


def test_times_since_1970_are_read_by_their_digits_by_all(tmp_path):
    events = [
        event("cpu_op", f"op{at % 7}", f"{1_712_345_678_000_000 + at}.{at % 1000:03}", "0.5", 1, 1)
        for at in range(2000)
    ]
    trace = load(tmp_path, text({**head(), "traceEvents": events}), helpers=1, **SIZES)
    same(trace, trace_from_objects(events, metadata=head()))


def test_a_process_that_dies_is_done_without(tmp_path, events, data, monkeypatch):
    real = crew_module._Worker.give
    killed = []

    def give(self, ticket, texts, **more):
        real(self, ticket, texts, **more)
        if not killed:
            killed.append(_child())
            os.kill(killed[0], signal.SIGKILL)
            time.sleep(0.05)

    monkeypatch.setattr(crew_module._Worker, "give", give)
    same(load(tmp_path, data, helpers=1, **SIZES), trace_from_objects(events, metadata=head()))
    assert killed


def _child() -> int:
    """A process that this one started last."""
    tasks = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    if not tasks.exists():
        pytest.skip("the system does not list the children of a process")
    return int(tasks.read_text().split()[-1])


def test_an_error_leaves_no_process_behind(tmp_path, data, monkeypatch):
    children = []

    class Boom(Exception):
        pass

    def add(self, batch):
        children.append(_child())
        raise Boom

    monkeypatch.setattr(reading.Reading, "_add_finished", add)
    with pytest.raises(Boom):
        load(tmp_path, data, helpers=1, **SIZES)
    assert children
    assert not Path(f"/proc/{children[0]}").exists()


def test_texts_larger_than_a_slot_are_left_to_the_caller():
    with crew_of(1, slot=100) as crew:
        assert not crew.give("ticket", [b"x" * 101])
        assert not crew.busy


def test_an_answer_larger_than_its_texts(tmp_path):
    """A batch that does not fit where the texts were comes another way."""
    with crew_of(1, slot=100) as crew:
        assert crew.give("ticket", [b'[{"ph":"X","ts":1,"dur":1}]'])
        (answer,) = list(crew.answers(patiently=True))
    assert answer[0] == "ticket"
    assert [batch and batch.start_ns.tolist() for batch in answer[1]] == [[1000]]


def test_whole_documents_in_other_forms(tmp_path, events):
    for form in (document(events), b"\n".join(map(text, events)), b"[" + b",\n".join(map(text, events))):
        same(load(tmp_path, form, helpers=1, **SIZES), load(tmp_path, form, helpers=0))
