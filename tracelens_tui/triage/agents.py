"""The sub-agents: which skill works on which categories of the manifest."""

import re
from dataclasses import dataclass

from tracelens_tui.run.findings import Tier


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """A sub-agent.  ``id`` is its skill directory; it covers the named categories of the manifest."""

    id: str
    tier: Tier
    categories: tuple[str, ...]


GEMM = AgentSpec("gemm", "compute", ("gemm", "groupedgemm_fwd", "groupedgemm_bwd"))
ATTENTION = AgentSpec("attention", "compute", ("sdpa_fwd", "sdpa_bwd", "inferenceattention"))
MOE = AgentSpec("moe", "compute", ("moe_fused", "moe_unfused"))
ELEMENTWISE = AgentSpec("elementwise", "compute", ("elementwise",))
REDUCE = AgentSpec("reduce", "compute", ("reduce",))
NORM = AgentSpec("norm", "compute", ("norm", "norm_fwd", "norm_bwd", "rmsnorm"))
CONVOLUTION = AgentSpec("convolution", "compute", ("convolution", "conv_fwd", "conv_bwd"))
TRITON = AgentSpec("triton", "compute", ("triton",))
GENERIC = AgentSpec("generic", "compute", ())
"""Takes every compute category that no other agent covers."""
CPU_IDLE = AgentSpec("cpu-idle", "system", ("cpu_idle",))
MULTI_KERNEL = AgentSpec("multi-kernel", "system", ("multi_kernel",))
KERNEL_FUSION = AgentSpec("kernel-fusion", "fusion", ("kernel_fusion",))

AGENTS = (
    CPU_IDLE,
    MULTI_KERNEL,
    KERNEL_FUSION,
    GEMM,
    ATTENTION,
    MOE,
    ELEMENTWISE,
    REDUCE,
    NORM,
    CONVOLUTION,
    TRITON,
    GENERIC,
)

_BY_CATEGORY = {category: agent for agent in AGENTS for category in agent.categories}


def agent_of(category: str) -> AgentSpec:
    """Return the sub-agent that covers a category of the manifest."""
    return _BY_CATEGORY.get(category, GENERIC)


def category_name(display_name: str) -> str:
    """Return the manifest name of a category: ``SDPA_fwd`` -> ``sdpa_fwd``."""
    return re.sub(r"[^a-z0-9_]", "_", display_name.lower()) or "other"
