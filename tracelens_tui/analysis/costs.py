"""What each distinct op has to do: the perf models, asked once per distinct arguments."""

from dataclasses import replace

from tracelens_tui.perf.parse import op_args
from tracelens_tui.perf.registry import Registry, default_registry
from tracelens_tui.perf.types import OpCost
from tracelens_tui.trace.types import Trace


class CostBook:
    """The costs of a trace's ops by name, row of ``Trace.args``, kernels and iteration; nothing is computed twice."""

    def __init__(self, trace: Trace, registry: Registry | None = None) -> None:
        self._trace = trace
        self._registry = registry or default_registry()
        self._costs: dict[tuple[str, int, tuple[str, ...], str], OpCost | None] = {}

    @property
    def registry(self) -> Registry:
        """The models that are asked."""
        return self._registry

    def is_modelled(self, name: str) -> bool:
        """Whether ops of this name make a row for their perf model, whatever lies below them."""
        model = self._registry.model(name)
        return model is not None and not model.leaf_only

    def per_iteration(self, name: str) -> bool:
        """Whether the model of ops of this name asks for the serving iteration around a call."""
        model = self._registry.model(name)
        return model is not None and model.per_iteration

    def cost(self, name: str, args: int, kernels: tuple[str, ...], iteration: str = "") -> OpCost | None:
        """Return the cost of one call that launches these kernels; None if no model can tell."""
        if self._registry.model(name) is None:
            return None
        key = (name, args, kernels, iteration)
        if key not in self._costs:
            dims, types, strides, concrete = self._trace.args.row(args)
            parsed = op_args(name, dims, types, strides, concrete, kernels)
            self._costs[key] = self._registry.cost_of(replace(parsed, iteration=iteration))
        return self._costs[key]
