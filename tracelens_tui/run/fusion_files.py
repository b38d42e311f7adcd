"""Schemas of the analysis of kernel fusion.  Units and names as in ``manifest``."""

from typing import Literal

from pydantic import Field

from tracelens_tui.run.category_files import ImpactEstimate
from tracelens_tui.run.findings import SCHEMA_VERSION, Schema


class CandidateKernel(Schema):
    """One kernel of the instance of a candidate that takes longest."""

    name: str
    type: str  # category of the op: "GEMM", "elementwise", ...
    dur_us: float
    eligible: bool  # its traffic can shrink: it is no matrix product
    gpu_op_uid: int  # id of the event
    op: str  # the op that launched it


class FusionCandidate(Schema):
    """Chains of calls with the same ops in the same order."""

    module_name: str  # innermost module around the first instance; "" = none
    base_name: str  # the ops in order
    parent_chain: list[str]  # modules around it, outermost first
    instance_count: int
    kernel_count: int  # of the instance that takes longest
    eligible_kernel_count: int
    kernels: list[CandidateKernel]
    kernel_type_signature: list[str]
    kernel_type_summary: dict[str, int]
    has_fused_kernel: bool = False  # ops that are fused already are never members
    total_kernel_time_us: float  # of all instances, each with its own time
    input_dims: str  # of the first call, as in the table
    source: Literal["sibling_sequence"] = "sibling_sequence"
    host_call: str = ""  # innermost host call around the first instance


class FusionCandidates(Schema):
    """``category_data/fusion_candidates.json``: no kernel belongs to two of them; most time first."""

    schema_version: int = SCHEMA_VERSION
    candidates: list[FusionCandidate]


class FusionSaving(Schema):
    """What fusing the chains of a candidate removes; times over all instances."""

    finding: str | None = None  # id of the finding that speaks of it; null = not worth one
    operation: str  # base name of the candidate
    module: str
    host_call: str
    instance_count: int
    kernel_count: int
    modelled_kernel_count: int
    fusion_type: Literal["matrix_compute", "memory_bound"]
    bound_type: Literal["compute", "memory"]
    time_ms: float
    matrix_ms: float  # of it in matrix products: nothing of this is claimed
    removed_percent: float  # of the traffic time of the other kernels
    removed_ms: float  # time of reading and writing intermediates, at each kernel's own rate
    claimed_ms: float  # the part of it that is exposed and that no other finding may claim
    claimed_percent: float  # of the window
    kernels: list[CandidateKernel]  # as in the candidate


class KernelFusionMetrics(Schema):
    """``category_data/kernel_fusion_metrics.json``."""

    schema_version: int = SCHEMA_VERSION
    category: str = "kernel_fusion"
    status: Literal["OK", "NO_DATA", "ERROR"]
    total_time_ms: float
    candidate_count: int
    estimated_count: int
    total_impact_score: float  # sum of mids
    platform: str
    peak_hbm_bw_tbs: float | None
    impact_estimates: list[ImpactEstimate] = Field(default_factory=list)
    savings: list[FusionSaving] = Field(default_factory=list)  # one for each candidate, in the order of that file
    room_percent: float = 0.0  # of the window: the most that mids of fusion may claim together
