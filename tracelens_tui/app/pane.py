"""The base of every pane: a line-API widget with a title rule, fixed header lines and a body it scrolls itself.

Nothing here sets a virtual size, so neither scrolling nor a change of length lays out the screen again.
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from tracelens_tui.app.cells import Cell, fit_line, width_of, wrap
from tracelens_tui.text import plain

STYLES = ("title", "head", "dim", "bold", "good", "warn", "bad", "accent", "cursor", "mark", "match")
"""Names of cell styles; each is the component class ``pane--NAME`` in the style sheet."""


class Pane(Widget, can_focus=True):
    """A title rule, ``header_count`` fixed lines and ``body_count()`` lines that scroll."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"pane--{name}" for name in STYLES}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "down", show=False),
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("pagedown,ctrl+f", "page(2)", "page down", show=False),
        Binding("pageup", "page(-2)", "page up", show=False),
        Binding("ctrl+d", "page(1)", "half a page down", show=False),
        Binding("ctrl+u", "page(-1)", "half a page up", show=False),
        Binding("home,g", "edge(False)", "first", show=False),
        Binding("end,G", "edge(True)", "last", show=False),
    ]
    title_height = 1
    header_count = 0
    searchable = False
    """Whether ``find`` looks for words."""
    keys = ""
    """The keys of this pane for the key line, ``key what  key what``."""

    def __init__(self, *, label: str, id: str | None = None) -> None:  # noqa: A002 - textual's own name
        super().__init__(id=id)
        self.label = label
        self.top = 0
        self._drawn_position = ""
        self._style_of: dict[str, Style] = {}

    # What a subclass says ------------------------------------------------------------------------------------------

    def body_count(self) -> int:
        """Return the number of body lines."""
        raise NotImplementedError

    def body_strip(self, index: int) -> Strip:
        """Return body line ``index`` in the pane's width."""
        raise NotImplementedError

    def header_strip(self, line: int) -> Strip:
        """Return fixed line ``line``."""
        raise NotImplementedError

    def empty_lines(self) -> Sequence[str]:
        """Return what the body says when it has no lines."""
        return ()

    def status(self) -> str:
        """Return what stands after the position: what the rows are, the filter."""
        return ""

    def position(self) -> str:
        """Return where the cursor or the view is, for the title rule."""
        return ""

    def copied(self) -> str | None:
        """Return what is under the cursor, for copying; None where there is nothing."""
        return None

    def find(self, needle: str, step: int) -> bool:
        """Move to the next (1) or previous (-1) place that holds the words; False where none does."""
        raise NotImplementedError

    # Drawing -------------------------------------------------------------------------------------------------------

    @property
    def fixed(self) -> int:
        """Lines above the body."""
        return self.title_height + self.header_count

    @property
    def body_height(self) -> int:
        """Lines of the body that can be seen."""
        return max(0, self.size.height - self.fixed)

    def named_style(self, name: str) -> Style:
        """Return the style of that name on this pane's ground."""
        style = self._style_of.get(name)
        if style is None:
            style = self.get_component_rich_style(f"pane--{name}") if name else self.rich_style
            self._style_of[name] = style
        return style

    def strip(self, cells: Sequence[Cell], *, over: str | None = None) -> Strip:
        """Return the cells in the pane's width; ``over`` is one style for the whole line."""
        return self.strip_of(fit_line(cells, self.size.width), self.size.width, over)

    def strip_of(self, cells: Iterable[Cell], width: int, over: str | None = None) -> Strip:
        """Return fitted cells as a strip of ``width``, neighbours of one style joined (fewer escape codes)."""
        segments: list[Segment] = []
        held, held_style = "", self.named_style(over or "")
        for text, name in cells:
            style = self.named_style(name if over is None else over)
            if style == held_style or (not text.strip() and _same_ground(style, held_style)):
                held += text
                continue
            if held:
                segments.append(Segment(held, held_style))
            held, held_style = text, style
        segments.append(Segment(held, held_style))
        return Strip(segments, width)

    def notify_style_update(self) -> None:
        """Forget the styles when the theme or the focus changes."""
        super().notify_style_update()
        self.forget_strips()

    def forget_strips(self) -> None:
        """Forget everything that was made with the old styles."""
        self._style_of.clear()

    def render_line(self, y: int) -> Strip:
        """Return one line of the widget."""
        if y < self.title_height:
            return self._title_strip()
        if y < self.fixed:
            return self.header_strip(y - self.title_height)
        count = self.body_count()
        if count == 0:
            return self._empty_strip(y - self.fixed)
        index = self.top + y - self.fixed
        if index >= count:
            return Strip.blank(self.size.width, self.named_style(""))
        return self.body_strip(index)

    def _title_strip(self) -> Strip:
        """The title rule: heavy and bold where the keys go, so that focus shows without colour."""
        rule = "━" if self.has_focus else "─"
        name = "title" if self.has_focus else "dim"
        width = self.size.width
        position = self._drawn_position = self.position()
        status = self.status()
        cells: list[Cell] = [
            (f"{rule} {self.label} ", "title" if self.has_focus else "bold"),
            (f"{position} " if position else "", name),
            (f"{status} " if status else "", ""),
        ]
        used = sum(width_of(text) for text, _ in cells)
        cells = [*cells, (rule * (width - used), name)] if used < width else fit_line(cells, width)
        return self.strip_of(cells, width)

    def _empty_strip(self, line: int) -> Strip:
        """A line of a body that has nothing to show: the words for it, near the top."""
        words = [
            (part, "" if number == 0 else "dim")
            for number, text in enumerate(self.empty_lines())
            for part in wrap(plain(text), self.size.width - 4)
        ]
        text, style = words[line - 1] if 1 <= line <= len(words) else ("", "")
        return self.strip([("  " + text, style)])

    # Scrolling -----------------------------------------------------------------------------------------------------

    def scroll_body(self, top: int) -> None:
        """Put body line ``top`` first, as far as the body goes."""
        top = max(0, min(top, self.body_count() - self.body_height))
        if top != self.top:
            self.top = top
            self.refresh()

    def refresh_body_line(self, index: int, width: int | None = None) -> None:
        """Draw one body line again, or its first ``width`` terminal cells."""
        y = index - self.top
        if 0 <= y < self.body_height:
            self.refresh(Region(0, y + self.fixed, self.size.width if width is None else width, 1))

    def refresh_title(self) -> None:
        """Draw the title rule again."""
        self.refresh(Region(0, 0, self.size.width, 1))

    def refresh_position(self) -> None:
        """Draw the start of the title rule again, up to where the body stands; what follows it only if it shifted.

        The framework sends a line from its start to the end of what changed, so what changes often stands first.
        """
        before, after = self._drawn_position, self.position()
        end = width_of(f"━ {self.label} {after}")
        self.refresh(Region(0, 0, end if len(before) == len(after) else self.size.width, 1))

    def action_move(self, step: int) -> None:
        """Move by lines."""
        self.scroll_body(self.top + step)

    def action_page(self, halves: int) -> None:
        """Move by halves of a page."""
        self.action_move(halves * max(1, self.body_height // 2))

    def action_edge(self, last: bool) -> None:  # noqa: FBT001 - a binding gives it by place
        """Move to the first or the last line."""
        count = self.body_count()
        self.action_move(count if last else -count)

    def on_resize(self, _event: events.Resize) -> None:
        """Keep the body filled."""
        self.forget_strips()
        self.top = max(0, min(self.top, self.body_count() - self.body_height))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll by the wheel."""
        event.stop()
        self.scroll_body(self.top + 3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll by the wheel."""
        event.stop()
        self.scroll_body(self.top - 3)


def _same_ground(one: Style, other: Style) -> bool:
    """Whether a blank looks the same in both styles."""
    return one.bgcolor == other.bgcolor and not (one.reverse or other.reverse or one.underline or other.underline)
