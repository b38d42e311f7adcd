"""Where an attention op keeps Q, K, V and what it says of its mask."""

from collections.abc import Callable
from dataclasses import dataclass

from tracelens_tui.perf.attention_pairs import ALL, BOTTOM_RIGHT, TOP_LEFT, Mask
from tracelens_tui.perf.operands import Tensor, tensor, value
from tracelens_tui.perf.parse import as_bool, as_int, as_ints
from tracelens_tui.perf.types import OpArgs

MaskReader = Callable[[OpArgs], Mask | None]
"""The mask that a call recorded, None = not recorded."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How an op lays out Q, K and V (side by side from ``q`` on) and where it keeps the others (None = nowhere)."""

    heads_first: bool  # B H N D, else B N H D
    mask: MaskReader
    q: int = 0
    grad: int | None = None  # gradient of the output: this is a backward op
    saved: tuple[int, ...] = ()  # output and log-sum-exp of the forward pass
    dropout: int | None = None
    bias: int | None = None  # additive mask tensor
    sequences: tuple[int, int] | None = None  # cumulative lengths of packed queries and keys
    longest: tuple[int, int] | None = None  # the longest of each
    window: tuple[int, ...] = ()  # left and right size of a sliding window, or both in one list
    unknown: tuple[int, ...] = ()  # tensors that say which part of K and V is used: pages, lengths in a cache
    flash: bool = True

    def operands(self, args: OpArgs, rank: int) -> "Operands | None":
        """Return Q, K and V if each has that many dimensions."""
        q, k, v = (tensor(args, self.q + index) for index in range(3))
        if q is None or k is None or v is None or any(len(one.shape) != rank for one in (q, k, v)):
            return None
        return Operands(q, k, v)

    def packed(self, args: OpArgs) -> bool:
        """Whether sequences of several lengths lie behind one another in one batch."""
        return self.sequences is not None and any(tensor(args, index) is not None for index in self.sequences)

    def cached(self, args: OpArgs) -> bool:
        """Whether K and V are a cache, of which an unrecorded part is used."""
        return any(tensor(args, index) is not None for index in self.unknown)

    def mask_of(self, args: OpArgs) -> Mask | None:
        """Return the mask of a call with its sliding window, None where it is not recorded."""
        mask = self.mask(args)
        if mask is None or not self.window:
            return mask
        numbers = as_ints(value(args, self.window[0])) or [as_int(value(args, index)) for index in self.window]
        left, right = (*numbers, None)[:2]
        return mask.within(_size(left), _size(right))


@dataclass(frozen=True, slots=True)
class Operands:
    """Q, K and V."""

    q: Tensor
    k: Tensor
    v: Tensor


def _size(recorded: int | None) -> int | None:
    """-1 stands for no limit."""
    return None if recorded is None or recorded < 0 else recorded


def everything(_args: OpArgs) -> Mask:
    """No mask."""
    return ALL


def bottom_right(index: int) -> MaskReader:
    """Return the reader of a bool argument; True masks from the bottom right."""
    return _flag(index, BOTTOM_RIGHT)


def top_left(index: int) -> MaskReader:
    """Return the reader of a bool argument; True masks from the top left."""
    return _flag(index, TOP_LEFT)


def _flag(index: int, masked: Mask) -> MaskReader:
    def read(args: OpArgs) -> Mask | None:
        recorded = as_bool(value(args, index))
        return None if recorded is None else masked if recorded else ALL

    return read


def mask_type(index: int, window: int) -> MaskReader:
    """Return the reader of a number: 0 none, 1 from the top left, 2 from the bottom right.

    A window besides, at position ``window``, leaves the mask unknown: what it includes differs between versions.
    """
    kinds = {0: ALL, 1: TOP_LEFT, 2: BOTTOM_RIGHT}

    def read(args: OpArgs) -> Mask | None:
        code, size = as_int(value(args, index)), as_int(value(args, window))
        return None if code is None or (size is not None and size > 0) else kinds.get(code)

    return read
