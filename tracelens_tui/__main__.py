"""``python -m tracelens_tui``: the command line."""

import sys

from tracelens_tui.cli import main

if __name__ == "__main__":
    sys.exit(main())
