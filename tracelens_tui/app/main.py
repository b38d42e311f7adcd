"""The app's entry point."""

import gc
import sys
from pathlib import Path

from tracelens_tui.app.app import TraceLensApp
from tracelens_tui.app.options import AppOptions
from tracelens_tui.app.services import Services, scratch_folder

__all__ = ["AppOptions", "run_app"]


def run_app(target: Path | None, *, options: AppOptions) -> None:
    """Run the app on a trace, a run directory or, with None, the recent runs; return when the user quits.

    What remains to be told, such as how to see a run again that goes on, is printed after the screen is given back.
    """
    gc.freeze()  # modules stay: a full collection over them would stop the screen for 50 to 100 ms
    with scratch_folder() as folder:
        app = TraceLensApp(target, options, Services(), folder, settled=gc.freeze)
        last_words = app.run(mouse=options.mouse)
    if last_words:
        sys.stdout.write(last_words + "\n")
