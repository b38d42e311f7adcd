"""Traits of matrix products: the op's M, N, K.

The library's kernel sees the transposed problem, so its M is the op's N.
"""

import math
import re
from dataclasses import dataclass

from tracelens_tui.perf.types import Shape
from tracelens_tui.triage.facts import OpFacts, OtherOp, RunContext
from tracelens_tui.triage.traits.shapes import scores, shapes_in
from tracelens_tui.triage.traits.types import Facts, Trait

ALIGN = 8  # elements of 16 bits in the 16 bytes that wide loads move
PAD = 64
WAVE_LIMIT = 4.0
WAVE_FILL = 0.75
HOTSPOT_BYTES = 512
EXPERTS = 8
FEW_WAVES = 2.0
ROUTER = 512
FEW_ROWS = 64

_SIXTEEN_BIT = {"bf16", "fp16"}
_BYTES = {"bf16": 2, "fp16": 2, "fp32": 4, "fp64": 8, "fp8": 1, "int8": 1}
_TILES = (
    re.compile(r"_MT(?P<m>\d+)x(?P<n>\d+)x\d+"),  # Tensile, hipBLASLt
    re.compile(r"tilesize(?P<m>\d+)x(?P<n>\d+)x\d+"),  # cuBLAS xmma
    re.compile(r"gemm_\w*?_(?P<m>\d+)x(?P<n>\d+)_\d+x\d+_"),  # CUTLASS
    re.compile(r"nvjet_\w*?_(?P<m>\d+)x(?P<n>\d+)_\d+x\d+_"),  # cuBLASLt
)


def _misaligned(op: OpFacts, _run: RunContext) -> Facts | None:
    """N or K of a 16-bit GEMM is no multiple of eight elements (M alone rarely matters)."""
    if op.precision not in _SIXTEEN_BIT:
        return None
    for name in ("N", "K"):
        size = op.param(name)
        if size is not None and size > 1 and size % ALIGN:
            padded = math.ceil(size / PAD) * PAD
            return {"odd_dim": name, "odd": int(size), "padded": padded}
    return None


@dataclass(frozen=True, slots=True)
class _Tiling:
    """How the output of a GEMM is cut."""

    tiles: int
    units: int
    tile: str

    @property
    def waves(self) -> float:
        return self.tiles / self.units

    @property
    def fill(self) -> float:
        """Share of the slots in the waves that are needed, in %."""
        return 100 * self.tiles / (math.ceil(self.waves) * self.units)

    def facts(self) -> Facts:
        return {"tiles": self.tiles, "sms": self.units, "tile": self.tile, "waves": self.waves, "fill": self.fill}


def _tiling(op: OpFacts, run: RunContext) -> _Tiling | None:
    """Output tiles of the GEMM by the tile that its kernel's name states."""
    m, n, batch = op.param("M"), op.param("N"), op.param("B") or 1.0
    if m is None or n is None or not run.sm_count:
        return None
    for kernel in op.kernels:
        found = next((match for pattern in _TILES if (match := pattern.search(kernel.name))), None)
        if found:
            tile_m, tile_n = int(found["m"]), int(found["n"])
            tiles = int(math.ceil(n / tile_m) * math.ceil(m / tile_n) * batch)
            return _Tiling(tiles, run.sm_count, f"{tile_m}x{tile_n}")
    return None


def _few_tiles(op: OpFacts, run: RunContext) -> Facts | None:
    """Fewer than half as many output tiles as the device has compute units."""
    tiling = _tiling(op, run)
    return tiling.facts() if tiling is not None and tiling.tiles < tiling.units / 2 else None


def _wave_tail(op: OpFacts, run: RunContext) -> Facts | None:
    """At least one full wave, fewer than four, and the last one mostly empty."""
    tiling = _tiling(op, run)
    if tiling is None or not 1.0 < tiling.waves < WAVE_LIMIT or tiling.fill >= 100 * WAVE_FILL:
        return None
    return tiling.facts()


def _deep(op: OpFacts, _run: RunContext) -> Facts | None:
    """K is far larger than the output's sides."""
    m, n, k = op.param("M"), op.param("N"), op.param("K")
    if m is None or n is None or k is None or k < 16 * max(m, n):
        return None
    return {"m": int(m), "n": int(n), "k": int(k)}


def _skinny(op: OpFacts, _run: RunContext) -> Facts | None:
    """One side of the output is at most 64 and at least 64 times shorter than the other; K is short as well."""
    m, n, k = op.param("M"), op.param("N"), op.param("K")
    if m is None or n is None or k is None:
        return None
    short, long = min(m, n), max(m, n)
    if short > 64 or long < 64 * short or k > 256:
        return None
    return {"long": int(long), "short": int(short), "k": int(k)}


def _channel_stride(op: OpFacts, _run: RunContext) -> Facts | None:
    """The rows of the operands begin at multiples of 512 bytes."""
    k, size = op.param("K"), _BYTES.get(op.precision or "")
    if k is None or size is None or (k * size) % HOTSPOT_BYTES:
        return None
    return {"k": int(k)}


def _attention_scores(op: OpFacts, run: RunContext) -> Facts | None:
    """A batched product whose output or left operand is a score matrix that a softmax of the run works on."""
    m, n, k, batch = op.param("M"), op.param("N"), op.param("K"), op.param("B")
    if m is None or n is None or k is None or not batch or batch < 2:
        return None
    for other in run.others:
        shape = scores(other)
        if shape and math.prod(shape[:-2]) == batch and shape[-2:] in ((m, n), (m, k)):
            return {"softmax": other.name, "softmax_time": other.time_ms, "rows": int(shape[-2]), "row": int(shape[-1])}
    return None


def _operands(op: OtherOp) -> tuple[Shape, Shape] | None:
    """The two matrices of a plain product."""
    shapes = shapes_in(op.dims)
    if op.category != "gemm" or len(shapes) < 2 or any(len(shape) != 2 for shape in shapes[-2:]):
        return None
    return shapes[-2], shapes[-1]


def _like_experts(op: OpFacts, run: RunContext) -> Facts | None:
    """At least eight products of the run have this N and K, each with an M of its own, and M is small."""
    m, n, k = op.param("M"), op.param("N"), op.param("K")
    if m is None or n is None or k is None or op.param("B") not in (None, 1) or m >= min(n, k):
        return None
    found = {pair[0][0] for other in run.others if (pair := _operands(other)) and pair[1] == (k, n)}
    return {"products": len(found), "n": int(n), "k": int(k)} if len(found) >= EXPERTS else None


def _same_input(op: OpFacts, run: RunContext) -> Facts | None:
    """Another product of the run has this M and K, and this one gives fewer than two waves of tiles."""
    m, k, n, tiling = op.param("M"), op.param("K"), op.param("N"), _tiling(op, run)
    if m is None or k is None or tiling is None or tiling.waves >= FEW_WAVES:
        return None
    pairs = (pair for other in run.others if (pair := _operands(other)) and pair[0] == (m, k))
    partner = next((pair[1][1] for pair in pairs if pair[1][1] != n), None)
    return None if partner is None else {"m": int(m), "k": int(k), "waves": tiling.waves}


def _router(op: OpFacts, run: RunContext) -> Facts | None:
    """A product with at most 512 columns in a run that has expert layers."""
    n = op.param("N")
    if n is None or not 2 <= n <= ROUTER or not any(other.category.startswith("moe") for other in run.others):
        return None
    return {"n": int(n)}


def _few_rows_per_group(op: OpFacts, _run: RunContext) -> Facts | None:
    """A grouped product of which a group has fewer than 64 rows on average."""
    groups, rows = op.param("G"), op.param("M")
    if groups is None or groups < 2 or rows is None or rows / groups >= FEW_ROWS:
        return None
    return {"groups": int(groups), "rows": int(rows)}


TRAITS = {
    "few_rows_per_group": Trait(_few_rows_per_group, ("groups", "rows")),
    "like_experts": Trait(_like_experts, ("products", "n", "k")),
    "same_input": Trait(_same_input, ("m", "k", "waves")),
    "router": Trait(_router, ("n",)),
    "misaligned": Trait(_misaligned, ("odd_dim", "odd", "padded")),
    "few_tiles": Trait(_few_tiles, ("tiles", "sms", "tile", "waves", "fill")),
    "wave_tail": Trait(_wave_tail, ("tiles", "sms", "tile", "waves", "fill")),
    "deep": Trait(_deep, ("m", "n", "k")),
    "skinny": Trait(_skinny, ("long", "short", "k")),
    "channel_stride": Trait(_channel_stride, ("k",)),
    "attention_scores": Trait(_attention_scores, ("softmax", "softmax_time", "rows", "row")),
}
