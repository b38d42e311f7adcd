"""How many bytes the app sends to the terminal: idle, and per key, in a pseudo-terminal.

``python -m benchmarks.pty_bytes TRACE [--cols 120 --rows 40 --term xterm-256color --truecolor]`` opens the trace (or a
run directory) with the app, waits until it is quiet and presses keys; each figure is the median over the presses.
"""

import argparse
import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time
from dataclasses import dataclass, field

KEYS = {"down": b"\x1b[B", "pgdn": b"\x1b[6~", "home": b"\x1b[H", "esc": b"\x1b"}
ANSWERS = {b"\x1b[?2026$p": b"\x1b[?2026;2$y", b"\x1b[?2048$p": b"\x1b[?2048;0$y", b"\x1b[6n": b"\x1b[1;1R"}
SIZE_S = 0.1
"""What the process waits until the terminal's size is set."""
QUIET_S = {"held": 0.08, "rest": 0.4}
"""Shorter and longer than the cursor must rest before the detail follows it."""


@dataclass
class Terminal:
    """The app in a pseudo-terminal that answers its questions and counts what it sends."""

    descriptor: int
    process: int
    sent: bytearray = field(default_factory=bytearray)

    def read(self, quiet: float, limit: float) -> tuple[int, float]:
        """Read until nothing came for ``quiet`` seconds; return the bytes and the seconds to the last of them."""
        start = last = time.monotonic()
        count = 0
        while time.monotonic() - last < quiet and time.monotonic() - start < limit:
            if not select.select([self.descriptor], [], [], 0.01)[0]:
                continue
            try:
                data = os.read(self.descriptor, 1 << 16)
            except OSError:
                break
            count += len(data)
            last = time.monotonic()
            self.sent += data
            for question, answer in ANSWERS.items():
                if question in data:
                    os.write(self.descriptor, answer)
        return count, last - start

    def press(self, key: str, pace: str = "rest") -> tuple[int, float]:
        """Press a key; return the bytes it cost and the seconds to the last of them."""
        os.write(self.descriptor, KEYS.get(key, key.encode()))
        return self.read(QUIET_S[pace], 5.0)

    def wait_for(self, words: bytes, limit: float) -> float:
        """Read until the words were sent; return the seconds it took."""
        start = time.monotonic()
        while words not in self.sent and time.monotonic() - start < limit:
            self.read(0.01, 0.01)
        return time.monotonic() - start


def start(target: str, options: argparse.Namespace) -> Terminal:
    """Start the app on the target in a terminal of that size and kind."""
    env = {name: value for name, value in os.environ.items() if name not in {"COLORTERM", "NO_COLOR"}}
    env |= {"TERM": options.term, "XDG_STATE_HOME": tempfile.mkdtemp()}
    if options.truecolor:
        env["COLORTERM"] = "truecolor"
    arguments = [sys.executable, "-m", "tracelens_tui", target]
    process, descriptor = pty.fork()
    if process == 0:
        time.sleep(SIZE_S)
        os.execve(sys.executable, arguments, env)
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", options.rows, options.cols, 0, 0))
    return Terminal(descriptor, process)


def measure(terminal: Terminal) -> list[tuple[str, float, float]]:
    """Press the keys; return name, bytes and milliseconds to the last byte of each kind of action."""
    rows: list[tuple[str, float, float]] = []

    def note(name: str, keys: list[str], pace: str = "rest") -> None:
        costs = [terminal.press(key, pace) for key in keys]
        rows.append((name, statistics.median(c for c, _ in costs), 1e3 * statistics.median(s for _, s in costs)))

    for pane in "1234":
        terminal.press(pane)
        if pane == "3":
            terminal.press("*")
        terminal.press("home")
        note(f"cursor held, pane {pane}", ["down"] * 4, "held")
        terminal.press("home")
        note(f"cursor and detail, pane {pane}", ["down"] * 4)
        note(f"page, pane {pane}", ["pgdn"] * 3)
    note("pane switch", list("123456" * 2))
    count, _ = terminal.read(quiet=99, limit=5)  # a flash or a detail may still end
    count, _ = terminal.read(quiet=99, limit=10)
    rows.append(("idle, per second", count / 10, 0))
    return rows


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target")
    parser.add_argument("--cols", type=int, default=120)
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--term", default="xterm-256color")
    parser.add_argument("--truecolor", action="store_true")
    parser.add_argument("--settle", type=float, default=3.0, help="seconds of quiet before the first key")
    options = parser.parse_args()
    terminal = start(options.target, options)
    first = terminal.wait_for(b"tracelens-tui", limit=10) - SIZE_S
    opened = terminal.read(quiet=options.settle, limit=120)[1]
    print(f"{options.cols}x{options.rows} {options.term}, truecolor {options.truecolor}")
    print(f"{'first frame':<28}{first:>10.2f} s; quiet after {opened:.1f} s")
    for name, count, milliseconds in measure(terminal):
        print(f"{name:<28}{count:>10,.0f} B {milliseconds:>8.0f} ms")
    os.kill(terminal.process, signal.SIGKILL)
    os.waitpid(terminal.process, 0)


if __name__ == "__main__":
    main()
