"""How a triage ends early."""


class TriageError(Exception):
    """A sub-agent or a stage cannot do its work; the message is one sentence for the report."""


class Cancelled(Exception):
    """Somebody asked the triage to stop."""
