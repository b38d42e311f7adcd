"""The registry of scenarios: traces with planted truths, by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from tracelens_tui.errors import UserError
from tracelens_tui.evals import units
from tracelens_tui.evals.article import SPREAD_MEAN, write_article
from tracelens_tui.evals.llama_step import write_llama_step
from tracelens_tui.evals.planted import Planted


@dataclass(frozen=True, slots=True)
class Scenario:
    """A trace that can be written, and what its triage has to find."""

    name: str
    purpose: str  # one sentence
    write: Callable[[Path], Planted]
    finds: tuple[str, ...] = ()  # sub-agents that must report something
    silent: tuple[str, ...] = ()  # sub-agents that must not

    def into(self, directory: Path) -> Planted:
        """Write the trace as ``<name>.json.gz`` into an existing directory; return its truth."""
        return self.write(directory / f"{self.name}.json.gz")


_COMPUTE = ("gemm", "attention", "elementwise")

_ALL = (
    Scenario(
        "llama-step",
        "A training step with problems of every kind.",
        write_llama_step,
        ("gemm", "attention", "elementwise", "cpu-idle", "multi-kernel"),
    ),
    Scenario(
        "article", "GEMMs that are 80.6 % of compute time.", write_article, ("gemm",), ("cpu-idle", "multi-kernel")
    ),
    Scenario(
        "article-varied", "The same; the calls of one op vary a little.", partial(write_article, varied=True), ("gemm",)
    ),
    Scenario(
        "article-spread",
        "The same; the calls of one op vary so much that two means of its efficiency differ by more than 1 %.",
        partial(write_article, varied=True, mean_percent=SPREAD_MEAN),
        ("gemm",),
    ),
    Scenario("gemm-misaligned", "A GEMM of odd size beside its aligned sibling.", units.gemm_misaligned, ("gemm",)),
    Scenario("attention-short", "Attention over few positions.", units.attention_short, ("attention",), ("gemm",)),
    Scenario(
        "elementwise-poor-bw",
        "An fp32 add at a third of the bandwidth.",
        units.elementwise_poor_bandwidth,
        ("elementwise",),
        ("gemm", "attention"),
    ),
    Scenario(
        "launch-bound", "Small kernels that the host cannot launch fast enough.", units.launch_bound, ("cpu-idle",)
    ),
    Scenario("no-shapes", "No shapes were recorded.", units.no_shapes),
    Scenario("gpu-only", "No host ops were recorded.", units.gpu_only),
    Scenario("no-gpu", "The machine has no GPU.", units.no_gpu, (), (*_COMPUTE, "cpu-idle", "multi-kernel")),
    Scenario("healthy", "Nothing is worth a finding.", units.healthy, (), (*_COMPUTE, "cpu-idle", "multi-kernel")),
    Scenario("hostile-names", "Names that attack terminals, templates and readers.", units.hostile_names, ("gemm",)),
)

SCENARIOS: Mapping[str, Scenario] = MappingProxyType({scenario.name: scenario for scenario in _ALL})


def scenario(name: str) -> Scenario:
    """Return the scenario of that name; UserError names the known ones."""
    found = SCENARIOS.get(name)
    if found is None:
        raise UserError(f"There is no scenario {name!r}; choose one of {', '.join(SCENARIOS)}.")
    return found
