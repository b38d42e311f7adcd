"""Progress of reading a trace, in words and as a bar."""

from tracelens_tui.app.cells import bar, thousands
from tracelens_tui.app.preparing import Step
from tracelens_tui.text import byte_count, plain

_WORDS = {"start": "starting", "store": "storing", "ready": "opening"}


def stage_word(stage: str) -> str:
    """Return the stage as the user knows it."""
    return _WORDS.get(stage, plain(stage))


def amount(step: Step) -> str:
    """Return how far the stage is, in what it counts; "" where that is not known."""
    if not step.total and not step.done:
        return ""
    show = byte_count if step.stage in {"read", "parse", "load", "decompress"} else thousands
    return f"{show(step.done)} of {show(step.total)}" if step.total else show(step.done)


def step_text(step: Step) -> str:
    """Return stage and amount."""
    return f"{stage_word(step.stage)} {amount(step)}".rstrip()


def step_bar(step: Step, width: int) -> str:
    """Return a bar of the stage; empty where its length is not known."""
    return bar(step.done / step.total if step.total else 0.0, width)
