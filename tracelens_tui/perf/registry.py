"""Which perf model an op has.  A registry is a value: extending it gives a new one, nothing is registered on import."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType

from tracelens_tui.perf import (
    convolution,
    elementwise,
    matrix_families,
    triton,
    vector_families,
)
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel

_NUMBERED = re.compile(r"(sglang_profiler::\w+?)_\d+")


def plain_name(name: str) -> str:
    """Return an op's name without the number that SGLang's profiler puts behind each of its ops."""
    numbered = _NUMBERED.fullmatch(name)
    return name if numbered is None else numbered[1]


class Registry:
    """Perf models by exact op name, else by the longest prefix that one is registered for.

    Immutable; a later model of the same name replaces an earlier one.
    """

    def __init__(self, models: Iterable[OpModel], categories: Mapping[str, str] = MappingProxyType({})) -> None:
        self._models = tuple(models)
        self._categories: Mapping[str, str] = MappingProxyType(dict(categories))
        by_name = {name: model for model in self._models for name in model.names}
        self._by_name: Mapping[str, OpModel] = MappingProxyType(by_name)
        prefixed = {prefix: model for model in self._models for prefix in model.prefixes}
        self._prefixed = sorted(prefixed.items(), key=lambda item: len(item[0]), reverse=True)

    def extended(self, models: Iterable[OpModel], categories: Mapping[str, str] = MappingProxyType({})) -> "Registry":
        """Return a registry that also knows ``models``; they win over built-in ones of the same name.

        ``categories`` are display categories by op name, which win over all others.
        """
        return Registry([*self._models, *models], {**self._categories, **categories})

    def category(self, name: str) -> str | None:
        """Return the category that an extension gives an op, None where none does."""
        return self._categories.get(name)

    def model(self, name: str) -> OpModel | None:
        """Return the model of an op, None if it has none."""
        known = self._by_name.get(name) or self._by_name.get(plain_name(name))
        if known is not None:
            return known
        return next((model for prefix, model in self._prefixed if name.startswith(prefix)), None)

    def cost_of(self, args: OpArgs) -> OpCost | None:
        """Return what one call costs; None if the op has no model or its arguments do not say.

        Evaluate once per distinct arguments; equal arguments give equal costs.
        """
        model = self.model(args.name)
        return None if model is None else model.cost(args)

    @property
    def names(self) -> frozenset[str]:
        """Every op name that has a model."""
        return frozenset(self._by_name)


@lru_cache(maxsize=1)
def default_registry() -> Registry:
    """Return the registry of all built-in models."""
    families = (matrix_families, convolution, elementwise, vector_families, triton)
    return Registry(model for family in families for model in family.MODELS)


def cost_of(args: OpArgs, registry: Registry | None = None) -> OpCost | None:
    """Return what one call costs by the given, else the built-in, models; see :meth:`Registry.cost_of`."""
    return (registry or default_registry()).cost_of(args)
