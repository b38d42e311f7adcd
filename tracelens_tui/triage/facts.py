"""What the sub-agents know of an operation and of the run: plain values, read from the run directory."""

from collections.abc import Mapping
from dataclasses import dataclass

from tracelens_tui.perf.types import Dims
from tracelens_tui.run.findings import Operation

Scalar = int | float | str | bool

MIB = 2**20


@dataclass(frozen=True, slots=True)
class KernelFact:
    """One kernel of an operation: its name, its time over all calls, and how often it ran."""

    name: str
    time_ms: float
    count: int = 0


@dataclass(frozen=True, slots=True)
class OpFacts:
    """One distinct operation, as its category's metrics file has it.

    ``view`` is the row that a finding shows.  Times are milliseconds over all calls, efficiencies ratios, both as in
    the file.
    """

    category: str
    view: Operation
    types: tuple[str, ...]
    dims: Dims
    strides: Dims
    params: Mapping[str, Scalar]
    exposed_ms: float
    mean_us: float  # kernel time of one call
    roof_us: float | None  # least time of one call
    bytes: float | None  # modelled traffic of one call
    precision: str | None
    library: str | None
    kernels: tuple[KernelFact, ...]
    spread: float | None = None  # standard deviation over mean of the calls' times, where it is high

    @property
    def name(self) -> str:
        """The op's name."""
        return self.view.name

    @property
    def efficiency(self) -> float | None:
        """Sum of roof times over sum of kernel times, a ratio; None without a roofline."""
        percent = self.view.efficiency_percent
        return None if percent is None else percent / 100

    @property
    def surest(self) -> float | None:
        """The efficiency that is reached at least, a ratio; differs from ``efficiency`` where that is a range."""
        percent = self.view.surest_percent
        return None if percent is None else percent / 100

    @property
    def ranged(self) -> bool:
        """Whether the arguments leave open how much work there is."""
        return self.view.efficiency_low_percent is not None

    @property
    def mib(self) -> float | None:
        """Modelled traffic of one call in MiB."""
        return None if self.bytes is None else self.bytes / MIB

    def param(self, name: str) -> float | None:
        """Return a numeric parameter of the perf model, None where there is none."""
        value = self.params.get(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


@dataclass(frozen=True, slots=True)
class OtherOp:
    """An operation of the run in short: what advice about a neighbour needs."""

    name: str
    category: str
    dims: Dims
    count: int
    time_ms: float


@dataclass(frozen=True, slots=True)
class RunContext:
    """What holds for the whole run."""

    window_ms: float
    platform: str | None = None
    vendor: str | None = None
    arch: str | None = None
    sm_count: int | None = None
    training: bool = False
    with_stack: bool = False
    shapes: bool = True  # inputs were recorded for some operation
    gated: bool = False  # a defect of the data: warn first, low confidence
    quality: frozenset[str] = frozenset()  # quality codes of the trace
    others: tuple[OtherOp, ...] = ()  # all operations of the run
