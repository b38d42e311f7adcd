"""Traits: named conditions on an operation that a rule can ask for, each with the facts it can state.

A trait returns its facts where it holds and None where it does not or cannot be known.  Facts are numbers or names
that a rule's text refers to.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tracelens_tui.perf.types import Shape
from tracelens_tui.triage.facts import OpFacts, OtherOp, RunContext, Scalar

Facts = Mapping[str, Scalar]
Test = Callable[[OpFacts, RunContext], "Facts | None"]

ALIGN = 8  # elements of 16 bits in the 16 bytes that wide loads move
PAD = 64
WAVE_LIMIT = 4.0
WAVE_FILL = 0.75
HOTSPOT_BYTES = 512
BWD_OVER_FWD = 3.5
HIDDEN = 0.2
LARGE_TENSOR = 1_000_000

_SIXTEEN_BIT = {"bf16", "fp16"}
_BYTES = {"bf16": 2, "fp16": 2, "fp32": 4, "fp64": 8, "fp8": 1, "int8": 1}
_TILES = (
    re.compile(r"_MT(?P<m>\d+)x(?P<n>\d+)x\d+"),  # Tensile, hipBLASLt
    re.compile(r"tilesize(?P<m>\d+)x(?P<n>\d+)x\d+"),  # cuBLAS xmma
    re.compile(r"gemm_\w*?_(?P<m>\d+)x(?P<n>\d+)_\d+x\d+_"),  # CUTLASS
    re.compile(r"nvjet_\w*?_(?P<m>\d+)x(?P<n>\d+)_\d+x\d+_"),  # cuBLASLt
)
_LONG_INT = {"long int", "long", "int64"}


@dataclass(frozen=True, slots=True)
class Trait:
    """A named condition and the names of the facts that it provides."""

    test: Test
    provides: tuple[str, ...] = ()


def traits_of(op: OpFacts, run: RunContext) -> dict[str, Facts]:
    """Return every trait that the operation has, with its facts."""
    found = ((name, trait.test(op, run)) for name, trait in TRAITS.items())
    return {name: facts for name, facts in found if facts is not None}


# GEMM: the op's M, N, K; the library's kernel sees the transposed problem, so its M is the op's N.


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
        if "softmax" not in other.name:
            continue
        shape = first_shape(other)
        if len(shape) < 2 or math.prod(shape[:-2]) != batch:
            continue
        if shape[-2:] in ((m, n), (m, k)):
            return {"softmax": other.name, "softmax_time": other.time_ms, "rows": int(shape[-2]), "row": int(shape[-1])}
    return None


# Attention: the model's B, H_Q, H_KV, N_Q, N_KV, d_h_qk.


def _padded_head(op: OpFacts, _run: RunContext) -> Facts | None:
    """The head dimension is no power of two, so a kernel with power-of-two tiles pads it."""
    size = op.param("d_h_qk")
    if size is None or size < 1:
        return None
    tile = 2 ** math.ceil(math.log2(size))
    if tile == size:
        return None
    return {"head_dim": int(size), "head_tile": tile, "head_waste": 100 * (1 - size / tile)}


def _dense_mask(op: OpFacts, _run: RunContext) -> Facts | None:
    """An attention mask tensor is among the inputs."""
    if len(op.dims) < 4 or ("efficient" not in op.name and "dot_product_attention" not in op.name):
        return None
    if "flash" in op.name:
        return None
    mask = op.dims[3]
    return {} if isinstance(mask, tuple) and len(mask) >= 2 else None


def _few_kv_blocks(op: OpFacts, run: RunContext) -> Facts | None:
    """Batch times key heads gives fewer independent blocks than the device has compute units."""
    batch, heads = op.param("B"), op.param("H_KV")
    if batch is None or heads is None or not run.sm_count or batch * heads >= run.sm_count:
        return None
    return {"blocks": int(batch * heads), "sms": run.sm_count}


def _slow_backward(op: OpFacts, run: RunContext) -> Facts | None:
    """One backward call takes over 3.5 times as long as the forward call of the same query shape."""
    if op.category != "sdpa_bwd" or not op.dims:
        return None
    query = shapes_in(op.dims)
    for other in run.others:
        if other.category != "sdpa_fwd" or not other.count or first_shape(other) not in query:
            continue
        forward = 1e3 * other.time_ms / other.count
        if forward and op.mean_us / forward > BWD_OVER_FWD:
            return {"bwd_ratio": op.mean_us / forward, "forward_mean": forward}
    return None


# Elementwise.


def _cast(op: OpFacts, _run: RunContext) -> Facts | None:
    """A copy between two dtypes."""
    kinds = [kind for kind in op.types[:2] if kind]
    if not _is_copy(op) or len(kinds) < 2 or kinds[0] == kinds[1]:
        return None
    return {"from_type": _dtype(kinds[1]), "to_type": _dtype(kinds[0])}


def _layout_copy(op: OpFacts, _run: RunContext) -> Facts | None:
    """A copy that keeps the dtype and changes the strides."""
    kinds = op.types[:2]
    if not _is_copy(op) or len(set(kinds)) > 1 or len(op.strides) < 2 or op.strides[0] == op.strides[1]:
        return None
    return {}


def _attention_copy(op: OpFacts, run: RunContext) -> Facts | None:
    """A copy that keeps the dtype and has the shape of an attention op's query, in either order of heads."""
    shape = _shape(op.dims[0]) if op.dims else ()
    if not _is_copy(op) or len(shape) != 4 or len(set(op.types[:2])) > 1:
        return None
    swapped = (shape[0], shape[2], shape[1], shape[3])
    for other in run.others:
        if other.category in {"sdpa_fwd", "sdpa_bwd"} and first_shape(other) in (shape, swapped):
            return {"attention": other.name}
    return None


def _broadcast(op: OpFacts, _run: RunContext) -> Facts | None:
    """Two inputs of different shapes."""
    shapes = [shape for shape in shapes_in(op.dims[:2]) if shape]
    return {} if len(shapes) == 2 and shapes[0] != shapes[1] else None


def _square_mask(op: OpFacts, _run: RunContext) -> Facts | None:
    """The largest input ends in two equal sides of at least 128, as an attention mask does."""
    shapes = [shape for shape in shapes_in(op.dims) if len(shape) >= 3]
    shape = max(shapes, key=math.prod, default=())
    if len(shape) < 3 or shape[-1] != shape[-2] or shape[-1] < 128:
        return None
    return {"side": shape[-1]}


def _int64_math(op: OpFacts, _run: RunContext) -> Facts | None:
    """Arithmetic on a large tensor of 64-bit integers."""
    if _is_copy(op) or not op.types or op.types[0] not in _LONG_INT or not op.dims:
        return None
    count = math.prod(_shape(op.dims[0]))
    return {"elements": count} if count >= LARGE_TENSOR else None


def _self_gated(op: OpFacts, run: RunContext) -> Facts | None:
    """A sigmoid, with a multiplication of the same shape elsewhere in the run."""
    shape = _shape(op.dims[0]) if op.dims else ()
    if "sigmoid" not in op.name or not shape:
        return None
    found = any(other.name.rstrip("_").endswith("::mul") and first_shape(other) == shape for other in run.others)
    return {} if found else None


def _overlapped(op: OpFacts, _run: RunContext) -> Facts | None:
    """A fifth or more of the time runs beside kernels of other ops."""
    time = op.view.time_ms
    hidden = 1 - op.exposed_ms / time if time else 0.0
    return {"hidden": 100 * hidden} if hidden >= HIDDEN else None


# Generic.


def _rotary(op: OpFacts, run: RunContext) -> Facts | None:
    """A concatenation of two equal halves, one of which a negation made: rotary embedding in eager mode."""
    halves = shapes_in(op.dims)
    if not op.name.endswith("::cat") or len(halves) != 2 or halves[0] != halves[1]:
        return None
    found = any(other.name.endswith("::neg") and first_shape(other) == halves[0] for other in run.others)
    return {} if found else None


def _repeated(op: OpFacts, _run: RunContext) -> Facts | None:
    """At least 300 calls of less than 10 µs."""
    return {} if op.view.count >= 300 and op.mean_us < 10 else None


TRAITS: Mapping[str, Trait] = {
    "misaligned": Trait(_misaligned, ("odd_dim", "odd", "padded")),
    "few_tiles": Trait(_few_tiles, ("tiles", "sms", "tile", "waves", "fill")),
    "wave_tail": Trait(_wave_tail, ("tiles", "sms", "tile", "waves", "fill")),
    "deep": Trait(_deep, ("m", "n", "k")),
    "skinny": Trait(_skinny, ("long", "short", "k")),
    "channel_stride": Trait(_channel_stride, ("k",)),
    "attention_scores": Trait(_attention_scores, ("softmax", "softmax_time", "rows", "row")),
    "padded_head": Trait(_padded_head, ("head_dim", "head_tile", "head_waste")),
    "dense_mask": Trait(_dense_mask),
    "few_kv_blocks": Trait(_few_kv_blocks, ("blocks", "sms")),
    "slow_backward": Trait(_slow_backward, ("bwd_ratio", "forward_mean")),
    "cast": Trait(_cast, ("from_type", "to_type")),
    "layout_copy": Trait(_layout_copy),
    "attention_copy": Trait(_attention_copy, ("attention",)),
    "broadcast": Trait(_broadcast),
    "square_mask": Trait(_square_mask, ("side",)),
    "int64_math": Trait(_int64_math, ("elements",)),
    "self_gated": Trait(_self_gated),
    "overlapped": Trait(_overlapped, ("hidden",)),
    "rotary": Trait(_rotary),
    "repeated": Trait(_repeated),
}


def first_shape(op: OtherOp) -> Shape:
    """Return the shape of an op's first tensor, () where none was recorded."""
    return next(iter(shapes_in(op.dims)), ())


def shapes_in(dims: tuple[Shape | tuple[Shape, ...], ...]) -> list[Shape]:
    """Return the shapes of an op's tensors, those of tensor lists included, scalars left out."""
    return list(_walk(dims))


def _walk(dims: tuple[Shape | tuple[Shape, ...], ...]) -> Iterator[Shape]:
    for item in dims:
        if not item:
            continue
        if all(isinstance(side, int) for side in item):
            yield _shape(item)
        else:
            yield from (inner for inner in item if isinstance(inner, tuple) and inner)


def _shape(item: Shape | tuple[Shape, ...]) -> Shape:
    """The sides of a tensor; () for a tensor list."""
    return tuple(side for side in item if isinstance(side, int))


def _is_copy(op: OpFacts) -> bool:
    """A copy, a clone or a conversion."""
    return re.search(r"::(copy_|clone|contiguous|to|_to_copy)$", op.name) is not None


def _dtype(name: str) -> str:
    """A dtype as people write it."""
    known = {"c10::BFloat16": "bf16", "c10::Half": "fp16", "float": "fp32", "double": "fp64"}
    return known.get(name, name)
