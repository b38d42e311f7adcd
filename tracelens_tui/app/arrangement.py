"""Which panes show at which size."""

from dataclasses import dataclass

from textual.containers import Horizontal, Vertical
from textual.screen import Screen

from tracelens_tui.app.lines import Lines
from tracelens_tui.app.selection import PaneName

PANES = ("findings", "kernels", "tree", "time", "agents", "timeline", "report")
LEFT = ("findings", "time")
WIDE = 112
"""Columns from which two panes stand side by side."""
LEFT_WIDTH = 42
TALL = 34
"""Lines from which the left side holds two panes."""


@dataclass(slots=True)
class Arrangement:
    """One pane and two lines of detail on a small screen; two or three panes and a full detail on a wide one."""

    zoomed: bool = False
    reading: bool = False  # the detail has the keys
    left: PaneName = "findings"
    right: PaneName = "kernels"
    wide: bool = False

    @property
    def roomy(self) -> bool:
        """True where the detail shows everything, not two lines."""
        return self.wide or self.reading

    def apply(self, screen: Screen[None], active: PaneName) -> None:
        """Show and hide the panes for the screen's size; sizes themselves are in the style sheet."""
        if active in LEFT:
            self.left = active
        else:
            self.right = active
        self.wide = screen.size.width >= WIDE and not self.zoomed
        shown = self._shown(active, screen.size.height)
        for name in PANES:
            screen.query_one(f"#{name}").display = name in shown
        left = screen.query_one("#left", Vertical)
        left.display = any(name in shown for name in LEFT)
        left.styles.width = max(LEFT_WIDTH, screen.size.width * 35 // 100) if self.wide else "1fr"
        screen.query_one("#right", Vertical).display = any(name in shown for name in PANES if name not in LEFT)
        screen.query_one("#body", Horizontal).display = self.wide or not self.reading
        detail = screen.query_one("#detail", Lines)
        detail.title_height = 1 if self.roomy else 0
        detail.display = self.reading or active != "report"
        screen.set_class(self.wide, "-wide")
        screen.set_class(self.reading, "-reading")
        screen.set_class(screen.size.height >= TALL, "-tall")

    def _shown(self, active: PaneName, height: int) -> set[PaneName]:
        """The names of the panes to show."""
        if not self.wide:
            return {active}
        left = set(LEFT) if height >= TALL else {self.left}
        return left | {self.right}
