"""Which experts' weights are read: not recorded, so bytes are a range with an expectation.

A trace has no routing.  The fewest experts are hit where all tokens choose the same ones, the most where no two do; the
figure between them is what uniform routing gives: each of M tokens hits each expert with the chance k/E, so that
E·(1 − (1 − k/E)^M) distinct experts are expected (TraceLens's assumption).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tracelens_tui.perf.dtypes import Dtype
from tracelens_tui.perf.operands import Tensor, total
from tracelens_tui.perf.types import OpCost

Params = Mapping[str, int | float | str | bool]
_ROUTING = "uniform"


@dataclass(frozen=True, slots=True)
class Experts:
    """E experts, of whom each of M tokens takes k; ``each`` are the bytes of one expert's weights, None = unknown."""

    count: int
    tokens: int
    top_k: int
    each: int | None

    @property
    def possible(self) -> bool:
        """Whether there can be such a routing."""
        return 0 < self.top_k <= self.count

    @property
    def fewest(self) -> int:
        """Experts hit where all tokens choose the same ones."""
        return min(self.top_k, self.count) if self.tokens else 0

    @property
    def most(self) -> int:
        """Experts hit where the tokens differ as far as they can."""
        return min(self.count, self.tokens * self.top_k)

    @property
    def expected(self) -> float:
        """Distinct experts hit under uniform routing."""
        return self.count * (1.0 - (1.0 - self.top_k / self.count) ** self.tokens)

    def read(self, hit: float) -> int | None:
        """Return the bytes of so many experts' weights."""
        return None if self.each is None else round(hit * self.each)


def expert_cost(
    experts: Experts, flops: int, read: int | None, written: int | None, precision: str | None, params: Params
) -> OpCost:
    """Return the cost of work that reads ``read`` bytes besides the weights of the experts that are hit."""
    around = total(read, written)
    least, most = (total(around, experts.read(hit)) for hit in (experts.fewest, experts.most))
    return OpCost(
        flops=flops,
        bytes_read=total(read, experts.read(experts.expected)),
        bytes_written=written,
        unit="matrix",
        precision=precision,
        params={
            **params,
            "routing": _ROUTING,
            "experts_read": round(experts.expected, 2),
            "experts_fewest": experts.fewest,
            "experts_most": experts.most,
        },
        bytes_range=None if least is None or most is None or least == most else (least, most),
    )


def bytes_of_each(*weights: Tensor) -> int | None:
    """Return the bytes of one expert's weights, None if a type is unknown; experts are the first dimension."""
    return total(*(None if w.bytes is None or not w.shape[0] else w.bytes // w.shape[0] for w in weights))


def weight_precision(rows: Dtype | None, weights: Dtype | None, *, packed: bool) -> str | None:
    """Return the arithmetic's precision: floating-point weights' own; packed integers are widened to the rows' type.

    Integers that are not packed may meet 8-bit or 16-bit rows: it is not recorded which.
    """
    if rows is None or weights is None:
        return None
    if weights.kind == "float":
        return weights.precision
    return rows.precision if packed else None
