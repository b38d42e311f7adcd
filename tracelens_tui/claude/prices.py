"""What tokens cost: the price table, the user's own in front of it."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec

from tracelens_tui.errors import UserError

MILLION = 1_000_000
Price = Annotated[float, msgspec.Meta(ge=0)]


class Usage(msgspec.Struct, frozen=True):
    """Tokens as the API counts them; ``input`` is what neither went into nor came out of the cache."""

    input: int = 0
    output: int = 0
    cache_write: int = 0
    cache_read: int = 0

    @property
    def prompt(self) -> int:
        """All tokens that went in."""
        return self.input + self.cache_write + self.cache_read

    @property
    def total(self) -> int:
        """All tokens, in and out."""
        return self.prompt + self.output

    def plus(self, other: "Usage") -> "Usage":
        """Return the sum of both."""
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_write + other.cache_write,
            self.cache_read + other.cache_read,
        )


class Band(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Prices in dollars for a million tokens, for prompts of at most ``up_to`` tokens."""

    input: Price
    output: Price
    cache_write: Price
    cache_read: Price
    up_to: int | None = None


class ModelPrice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One model: its prices by length of the prompt, shortest first, and whether it takes adaptive thinking."""

    bands: Annotated[list[Band], msgspec.Meta(min_length=1)]
    thinking: bool = False

    def band(self, prompt: int) -> Band:
        """Return the prices of a request with so many prompt tokens."""
        fitting = (band for band in self.bands if band.up_to is None or prompt <= band.up_to)
        return next(fitting, self.bands[-1])

    def cost(self, usage: Usage) -> float:
        """Return what one request cost, in dollars."""
        band = self.band(usage.prompt)
        dollars = (
            usage.input * band.input
            + usage.output * band.output
            + usage.cache_write * band.cache_write
            + usage.cache_read * band.cache_read
        )
        return dollars / MILLION

    @property
    def dearest_output(self) -> float:
        """The highest price of an output token, in dollars."""
        return max(band.output for band in self.bands) / MILLION


class _Table(msgspec.Struct, frozen=True):
    """The file; other fields are notes."""

    models: dict[str, ModelPrice]


def own_file() -> Path:
    """Return where a user's own prices stand; the file need not exist."""
    home = os.environ.get("XDG_CONFIG_HOME", "")
    base = Path(home) if Path(home).is_absolute() else Path.home() / ".config"
    return base / "tracelens-tui" / "prices.json"


def load_prices() -> Mapping[str, ModelPrice]:
    """Return the price of each model: the packaged table, replaced by model where the user has an own price.

    UserError where the user's file is not as it must be.
    """
    packaged = _read(Path(__file__).with_name("prices.json"))
    own = own_file()
    return {**packaged, **_read(own)} if own.is_file() else packaged


def price_of(model: str, prices: Mapping[str, ModelPrice]) -> ModelPrice:
    """Return a model's price; a dated name has the price of its family.  UserError where there is none."""
    names = [name for name in prices if model == name or _is_dated(model, name)]
    if not names:
        raise UserError(
            f"the price of the model {model!r} is not known, so no budget can be kept: choose one of "
            f"{', '.join(prices)}, or add it to {own_file()} in the form of the packaged prices.json"
        )
    return prices[names[0]]


def _is_dated(model: str, name: str) -> bool:
    """True for ``claude-haiku-4-5-20251001`` and ``claude-haiku-4-5``."""
    date = model.removeprefix(f"{name}-")
    return date != model and len(date) == 8 and date.isdecimal()


def _read(path: Path) -> dict[str, ModelPrice]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Table).models
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    except msgspec.DecodeError as error:
        raise UserError(f"{path}: is no table of prices ({error}); compare it with the packaged prices.json") from None
