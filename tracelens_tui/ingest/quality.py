"""What reading found wrong with a file, in the words of the closed list of quality codes."""

from collections import Counter

from tracelens_tui.trace.types import DataQuality, QualityItem

_MESSAGES = {
    "truncated": (
        "The file was cut or is damaged: a part of it is missing.",
        "What that part held is missing from every table.",
    ),
    "unreadable_event": ("{count} event(s) could not be read and were left out.", "They are missing from every table."),
    "repaired_text": ("{count} event(s) held text that is not valid JSON or UTF-8; the text was repaired.", ""),
    "second_list": (
        "A second list traceEvents in the same document was ignored.",
        "Its events are missing: join the lists, or give a file of each.",
    ),
    "trailing_bytes": ("{count} byte(s) after the end of the data were ignored.", ""),
    "archive_member": ("The archive holds {count} files; one of them was read.", ""),
    "unnamed_kernel": ("{count} kernel(s) have no name.", "They are shown under an empty name."),
    "rounded_time": ("{count} time(s) have digits below the nanosecond and were rounded half to even.", ""),
}


class Tally:
    """Counts per quality code while a file is read."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.events_lost = 0
        self.partial = False

    def record(self) -> DataQuality:
        """Return what was counted, in the order of the closed list above."""
        items = tuple(
            QualityItem(code, self.counts[code], message.format(count=self.counts[code]), effect)
            for code, (message, effect) in _MESSAGES.items()
            if self.counts[code]
        )
        return DataQuality(items, self.events_lost, self.partial)
