"""Types between the perf models, the roofline and the tables."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Shape = tuple[int, ...]
Dims = tuple["Shape | tuple[Shape, ...]", ...]
"""One entry per argument: a shape, or a tuple of shapes for a tensor list; () for a scalar or a 0-dim tensor."""

BY_KERNEL = ""
"""Category of an op whose kernels decide it."""

Unit = Literal["matrix", "vector"]
Bound = Literal["compute", "memory"]


@dataclass(frozen=True, slots=True)
class OpArgs:
    """One distinct set of recorded arguments of an op, parsed from the trace's lists."""

    name: str
    dims: Dims
    types: tuple[str, ...]
    strides: Dims = ()
    concrete: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()  # names of the GPU kernels of one call, in order
    iteration: str = ""  # name of the serving iteration around the call, "" = none; for models that ask for it


@dataclass(frozen=True, slots=True)
class OpCost:
    """What one call of an op has to do, by its arguments alone."""

    flops: int | None  # None: cannot be known, never 0 for unknown
    bytes_read: int | None
    bytes_written: int | None
    unit: Unit | None
    precision: str | None  # "bf16", "fp16", "fp32", "fp64", "fp8", "int8", ...
    params: Mapping[str, int | float | str | bool] = field(default_factory=dict)  # M, N, K, ... in model order
    # fewest and most where the arguments leave it open (experts that are hit, lengths of packed sequences); the figure
    # above lies between them
    flops_range: tuple[int, int] | None = None
    bytes_range: tuple[int, int] | None = None

    @property
    def bytes_moved(self) -> int | None:
        """Bytes read plus bytes written, None if either is unknown."""
        if self.bytes_read is None or self.bytes_written is None:
            return None
        return self.bytes_read + self.bytes_written


@dataclass(frozen=True, slots=True)
class Roof:
    """The least time one call can take on a platform, and what limits it."""

    time_ns: float  # max(flops / peak, bytes / bandwidth)
    bound: Bound
    spec: str  # key of the peak used, e.g. "matrix_bf16"; "memory" where no arithmetic is counted
    peak_tflops: float  # 0 for "memory"
    bandwidth_gbps: float  # decimal GB/s, nameplate


@dataclass(frozen=True, slots=True)
class OpModel:
    """What a group of ops costs: a pure function from arguments to :class:`OpCost`.

    ``cost`` answers None where the arguments do not say (nothing recorded, a shape that cannot be); it never raises.
    """

    names: tuple[str, ...]
    family: str  # sheet of the per-family tables: "GEMM", "SDPA", "UnaryElementwise", ...
    category: str  # display name: "GEMM", "SDPA_fwd", "elementwise", ...; BY_KERNEL leaves it to the kernels
    cost: Callable[[OpArgs], OpCost | None]
    prefixes: tuple[str, ...] = ()  # how further names begin; a model of the exact name wins
    leaf_only: bool = False  # for an op that launches itself: modelled ops below it are counted in its place
    per_iteration: bool = False  # needs ``OpArgs.iteration``: calls of different iterations are different ops
