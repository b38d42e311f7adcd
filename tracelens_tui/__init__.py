"""Find out in the terminal what to fix first in a GPU profiler trace."""

__version__ = "0.1.0"
