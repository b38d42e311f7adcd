"""The application: options, style sheet, and which screen comes when."""

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import App
from textual.binding import Binding, BindingType
from textual.filter import LineFilter

from tracelens_tui.app.entry_screens import ErrorScreen, OpenScreen, PathGiven
from tracelens_tui.app.glyphs import AsciiFilter, terminal_speaks_utf8
from tracelens_tui.app.loading import Failed, LoadingScreen, Opened
from tracelens_tui.app.options import DEFAULT_THEME, AppOptions
from tracelens_tui.app.services import Services
from tracelens_tui.resources import STYLES


class TraceLensApp(App[str]):
    """Opens a trace or a run; its result is what to print after it ends."""

    TITLE = "tracelens-tui"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c,ctrl+q", "leave_app", "quit", show=False, priority=False)]

    def __init__(
        self,
        target: Path | None,
        options: AppOptions,
        services: Services,
        folder: Path,
        *,
        settled: Callable[[], object] = lambda: None,
    ) -> None:
        theme = options.theme or DEFAULT_THEME
        # The framework chooses its NO_COLOR filter here, before it knows the theme; the one for other themes would
        # draw the terminal's own colours black on black.
        super().__init__(css_path=STYLES / "app.tcss", ansi_color=True if theme.startswith("ansi") else None)
        self._target, self._folder = target, folder
        self._settled = settled  # called once everything is loaded that stays
        self._options, self._services = options, services
        self._ascii = options.ascii or not terminal_speaks_utf8()
        self.animation_level = "none"
        self.theme = theme

    def get_line_filters(self) -> list[LineFilter]:
        """Return the filters of the framework, and ours."""
        return [*super().get_line_filters(), *([AsciiFilter()] if self._ascii else [])]

    def on_mount(self) -> None:
        """Show the first screen: loading, or recent runs where there is nothing to load."""
        self.push_screen(OpenScreen(self._services) if self._target is None else self._loading(self._target))

    def _loading(self, target: Path) -> LoadingScreen:
        return LoadingScreen(self._services, self._options, target, self._folder)

    @on(PathGiven)
    def _path_given(self, message: PathGiven) -> None:
        self.switch_screen(self._loading(message.path))

    @on(Failed)
    def _failed(self, message: Failed) -> None:
        self.switch_screen(ErrorScreen(message.reason, message.target))

    @on(Opened)
    def _opened(self, message: Opened) -> None:
        """Show the workbench: its module is loaded by now, in the thread that opened the trace."""
        from tracelens_tui.app.workbench import Workbench

        self._settled()
        self.switch_screen(
            Workbench(
                self._services,
                self._options,
                trace=message.trace,
                run_dir=message.run_dir,
                view=message.view,
                folder=self._folder,
            )
        )

    def action_leave_app(self) -> None:
        """Quit, by the screen's own way where it has one."""
        leave = getattr(self.screen, "action_quit_app", None)
        if leave is None:
            self.exit()
        else:
            leave()
