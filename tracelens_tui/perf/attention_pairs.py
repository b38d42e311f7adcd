"""How many query-key pairs an attention mask leaves.

The diagonal of a causal mask counts half, so that equal lengths cost exactly one half of the square.  Everything here
is twice the number of pairs, to stay whole.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Mask:
    """Which keys a query sees.

    A query is aligned with one key: from the bottom right (FlashAttention) the last query with the last key, from the
    top left (memory-efficient and cuDNN attention) the first with the first.  ``left`` and ``right`` are how many keys
    before and after that one are seen, None = all; causal is ``right`` 0.
    """

    top_left: bool = False
    left: int | None = None
    right: int | None = None

    @property
    def causal(self) -> bool:
        """Whether no query sees a later key."""
        return self.right == 0

    @property
    def windowed(self) -> bool:
        """Whether a sliding window limits what is seen."""
        return self.left is not None or self.right not in {None, 0}

    def within(self, left: int | None, right: int | None) -> "Mask":
        """Return the mask with a window besides, None = no limit."""
        ends = [end for end in (self.right, right) if end is not None]
        return replace(self, left=left, right=min(ends) if ends else None)


ALL = Mask()
BOTTOM_RIGHT = Mask(right=0)
TOP_LEFT = Mask(top_left=True, right=0)


def double_pairs(n_q: int, n_kv: int, mask: Mask) -> int:
    """Return twice the number of query-key pairs that are looked at."""
    if not n_q or not n_kv:
        return 0
    shift = 0 if mask.top_left else n_kv - n_q
    upto = n_q * n_kv if mask.right is None else _at_most(shift + mask.right, n_q, n_kv)
    before = 0 if mask.left is None else _at_most(shift - mask.left - 1, n_q, n_kv)
    diagonal = _on_diagonal(shift, n_q, n_kv) if mask.causal else 0
    return max(2 * (upto - before) - diagonal, 0)


def _at_most(shift: int, n_q: int, n_kv: int) -> int:
    """Count the pairs with key ≤ query + shift."""
    above = _triangle(n_q + shift) - _triangle(shift)
    return above - (_triangle(n_q + shift - n_kv) - _triangle(shift - n_kv))


def _triangle(n: int) -> int:
    return n * (n + 1) // 2 if n > 0 else 0


def _on_diagonal(shift: int, n_q: int, n_kv: int) -> int:
    """How many queries have the key that they are aligned with."""
    return max(min(n_q, n_kv - shift) - max(0, -shift), 0)
