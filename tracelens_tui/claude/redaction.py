"""Keeping credentials out of everything that is shown or written."""

from collections.abc import Sequence

MARK = "[redacted]"
_SHORTEST = 6  # what is shorter would take ordinary words away
_SHOWN_PART = 3  # a beginning of a secret up to this length is no secret yet


class Redactor:
    """Takes secrets out of texts."""

    def __init__(self, secrets: Sequence[str]) -> None:
        kept = {secret.strip() for secret in secrets}
        self._secrets = sorted((one for one in kept if len(one) >= _SHORTEST), key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """Return the text with every secret replaced."""
        for secret in self._secrets:
            text = text.replace(secret, MARK)
        return text

    def growing(self, text: str) -> str:
        """Return the same of a text that still grows: the beginning of a secret at its end waits for the rest."""
        text = self(text)
        held = max((_overlap(text, secret) for secret in self._secrets), default=0)
        return text[: len(text) - held] if held > _SHOWN_PART else text


def _overlap(text: str, secret: str) -> int:
    """How many characters at the end of the text are the beginning of the secret."""
    longest = min(len(text), len(secret) - 1)
    return next((length for length in range(longest, 0, -1) if text.endswith(secret[:length])), 0)
