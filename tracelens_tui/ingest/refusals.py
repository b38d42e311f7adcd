"""Why a file is not read, in one sentence that names the file and the mend."""

import re
from pathlib import Path

from tracelens_tui.errors import UserError
from tracelens_tui.ingest.sniff import foreign_profile, holds_events, is_json, looks_like

_ONLY = "only PyTorch Kineto JSON is read so far"
_TRACE_NAMES = (".json", ".json.gz", ".json.zip", ".json.xz", ".json.bz2", ".json.zst", ".zip")
_NAMED = 5
_ADDRESS = re.compile(r"(?:https?|s3|gs|ftp|hdfs):/")


def check_readable(path: Path) -> None:
    """Raise UserError unless the path is something that can be opened and read."""
    if _ADDRESS.match(str(path)):
        raise UserError(f"{path} is an address, not a file; download it first.")
    try:
        if path.is_dir():
            raise UserError(_directory(path))
        if path.is_fifo():
            return  # opening it would wait for its writer
        with path.open("rb"):
            pass
    except FileNotFoundError:
        raise UserError(f"{path} does not exist; check the path.") from None
    except PermissionError:
        raise UserError(f"{path} may not be read by this user; change its permissions: chmod u+r {path.name}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"{path} cannot be opened ({reason.lower()}).") from None


def refuse_foreign(path: Path, head: bytes) -> None:
    """Raise UserError where the unpacked beginning of a file is not that of a JSON document this program reads."""
    if not head:
        raise UserError(f"{path} is empty; the profiler wrote nothing, or the copy failed.")
    if not head.strip(b"\xef\xbb\xbf \t\r\n\0"):
        raise UserError(f"{path} holds only white space or zeros; the profiler wrote nothing, or the copy failed.")
    foreign = foreign_profile(head)
    if foreign is not None:
        raise UserError(f"{path} is {foreign}; {_ONLY}.")
    if not is_json(head) and not holds_events(head):
        raise UserError(f"{path} is no trace: it looks like {looks_like(head)}; {_ONLY}.")


def without_list(path: Path) -> UserError:
    """Return the error for JSON that holds no event list."""
    return UserError(
        f"{path} is JSON but no trace: it has no list traceEvents; give a file that the profiler exported."
    )


def without_events(path: Path, *, lost: int, cut: bool = False) -> UserError:
    """Return the error for a trace of no events, of which ``lost`` could not be read; ``cut`` by its packing."""
    if cut:
        return UserError(f"{path} is damaged: its compressed data end before the first whole event; copy it again.")
    if lost:
        return UserError(f"{path} is no trace: no item of its list can be read as an event.")
    return UserError(f"{path} is an empty trace with 0 events; the profiler recorded nothing.")


def jax(path: Path) -> UserError:
    """Return the error for the JSON that JAX's profiler writes."""
    return UserError(f"{path} is a JAX trace (trace.json); {_ONLY}.")


def _directory(path: Path) -> str:
    try:
        files = sorted(entry for entry in path.iterdir() if entry.is_file())
    except PermissionError:
        return f"{path} is a directory that may not be read by this user."
    names = [entry.name for entry in files if entry.name.lower().endswith(_TRACE_NAMES)]
    if not names:
        return f"{path} is a directory without a trace in it; give a trace file."
    listed = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    return f"{path} is a directory; give one of the traces in it: {listed}."
