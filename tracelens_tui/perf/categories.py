"""The category of an op or a kernel, with TraceLens's display names (GEMM, SDPA_fwd, elementwise, other, ...).

An op is looked up by its exact name (``perf/data/op_categories.json`` and the registered perf models), then by the
prefixes ``triton`` and ``record_param_comms``, then by its kernels: PyTorch's own kernels by the three words that
TraceLens looks for, any other by the kernel rules.
"""

from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files

import msgspec

from tracelens_tui.perf.kernels import CATEGORY_OF_CLASS, rule_of
from tracelens_tui.perf.registry import Registry, default_registry, plain_name
from tracelens_tui.perf.types import BY_KERNEL
from tracelens_tui.trace.roles import is_collective, is_copy

OTHER = "other"
_PYTORCH = "void at::native"
_PYTORCH_WORDS = ("elementwise", "reduce", "multi_tensor_apply")


def op_category(name: str, kernels: Sequence[str] = (), registry: Registry | None = None) -> str:
    """Return the display category of an op; ``kernels`` are the names of its own kernels in launch order.

    The first kernel whose category is not "other" decides for an op of unknown name; copies and sets are "other".
    """
    models = registry or default_registry()
    known = models.category(name) or _named_categories().get(plain_name(name))
    if known is not None:
        return known
    model = models.model(name)
    if model is not None and model.category != BY_KERNEL:
        return model.category
    if name.startswith("triton"):
        return "triton"
    if name.startswith("record_param_comms"):
        return "record_param_comms"
    found = map(kernel_category, kernels)
    return next((category for category in found if category != OTHER), OTHER)


def kernel_category(kernel: str) -> str:
    """Return the display category of a kernel by its name alone, "other" if the name says nothing.

    A collective is "record_param_comms"; whether a kernel is one is decided by :mod:`tracelens_tui.trace.roles`.
    """
    if is_copy(kernel):
        return OTHER
    if is_collective(kernel):
        return "record_param_comms"
    if kernel.startswith(_PYTORCH):
        word = next((word for word in _PYTORCH_WORDS if word in kernel), None)
        if word is not None:
            return word
    rule = rule_of(kernel)
    return OTHER if rule is None else CATEGORY_OF_CLASS[rule.kind]


@lru_cache(maxsize=1)
def _named_categories() -> dict[str, str]:
    data = (files("tracelens_tui.perf") / "data" / "op_categories.json").read_bytes()
    table = msgspec.json.decode(data, type=dict[str, list[str]])
    return {name: category for category, names in table.items() for name in names}
