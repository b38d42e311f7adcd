"""What each distinct op has to do: the perf models, asked once per distinct arguments."""

from tracelens_tui.perf.parse import op_args
from tracelens_tui.perf.registry import Registry, default_registry
from tracelens_tui.perf.types import OpCost
from tracelens_tui.trace.types import Trace


class CostBook:
    """The costs of a trace's ops by name, row of ``Trace.args`` and kernels; nothing is computed twice."""

    def __init__(self, trace: Trace, registry: Registry | None = None) -> None:
        self._trace = trace
        self._registry = registry or default_registry()
        self._costs: dict[tuple[str, int, tuple[str, ...]], OpCost | None] = {}

    def is_modelled(self, name: str) -> bool:
        """Whether ops of this name have a perf model."""
        return self._registry.model(name) is not None

    def cost(self, name: str, args: int, kernels: tuple[str, ...]) -> OpCost | None:
        """Return the cost of one call that launches these kernels; None if no model can tell."""
        if not self.is_modelled(name):
            return None
        key = (name, args, kernels)
        if key not in self._costs:
            dims, types, strides, concrete = self._trace.args.row(args)
            self._costs[key] = self._registry.cost_of(op_args(name, dims, types, strides, concrete, kernels))
        return self._costs[key]
