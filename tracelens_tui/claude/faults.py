"""Why Claude could not do the work of a sub-agent: one sentence for the report."""


class Fault(Exception):
    """The conversation ended without accepted findings; the message is the reason that the report gives."""


class Passing(Exception):
    """A fault of one request that may be gone the next time; ``wait_s`` is how long the server asks to wait."""

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s
