"""Claims that a trace cannot support are found however they are put; what it does support passes."""

import json

import pytest

from tracelens_tui.report.forbidden import CLAIMS, forbidden_claims
from tracelens_tui.resources import SKILLS


@pytest.mark.parametrize(
    ("code", "prose"),
    [
        ("occupancy", "Low occupancy limits the kernel."),
        ("occupancy", "The achieved Occupancy is poor."),
        ("spills", "Registers spill to memory."),
        ("spills", "VGPR pressure is high."),
        ("cache_hits", "The L2 cache hit rate is low."),
        ("cache_hits", "Many cache misses occur."),
        ("cache_hits", "It has poor cache locality."),
        ("bank_conflicts", "LDS bank conflicts slow it down."),
        ("coalescing", "Accesses are uncoalesced."),
        ("coalescing", "The loads are not well coalesced: non-coalesced loads."),
        ("warp_stalls", "Warps stall on memory."),
        ("warp_stalls", "Stalled wavefronts dominate."),
        ("warp_stalls", "Branch divergence costs time."),
        ("shared_memory", "Shared memory usage limits the tiles."),
        ("saturation", "The kernel saturates HBM."),
        ("saturation", "Memory bandwidth is saturated."),
        ("idle_units", "Tensor cores sit idle."),
        ("split_k", "The kernel uses split-K."),
        ("split_k", "The library chose stream-K here."),
        ("nccl_algorithm", "NCCL runs the ring algorithm."),
        ("nccl_algorithm", "The LL protocol is slow."),
        ("slow_network", "The network is slow."),
        ("slow_network", "NVLink is the bottleneck."),
        ("imbalance", "Experts are imbalanced."),
        ("imbalance", "Load balancing between ranks fails."),
        ("imbalance", "A straggler delays the others."),
        ("kv_cache_hits", "Prefix reuse is low."),
        ("throttling", "The GPU throttles."),
        ("throttling", "Clocks drop under load."),
        ("slow_host", "The CPU is too slow."),
        ("slow_host", "Wrong NUMA node."),
        ("autotuner", "The autotuner picked a bad tile."),
        ("shared_inputs", "The three products share an input."),
        ("fusion_saves", "Fusing the two saves a pass."),
        ("memory_capacity", "Memory is fragmented."),
        ("memory_capacity", "The job is close to OOM."),
        ("free_overlap", "Overlapping them is free."),
        ("tautology", "Moving the kernel toward the roofline shortens it."),
        ("tautology", "Making the kernel faster reduces time."),
        ("tautology", "Improving efficiency reduces the time."),
    ],
)
def test_the_claim_is_found(code: str, prose: str) -> None:
    assert [line.split(":")[0] for line in forbidden_claims(prose)] == [code]


def test_every_claim_has_an_example_above() -> None:
    examples = {mark.args[1][i][0] for mark in test_the_claim_is_found.pytestmark for i in range(len(mark.args[1]))}  # pyright: ignore[reportFunctionMemberAccess]
    assert examples == {claim.code for claim in CLAIMS}


@pytest.mark.parametrize(
    "prose",
    [
        "Whether the cache hit rate is low is not visible in the trace.",
        "Occupancy cannot be seen here; profile with hardware counters.",
        "The profiler's field `est. achieved occupancy %` is an estimate from the launch.",
        "The GEMM is followed by a split-K reduction.",
        "Same module, shape and dtype: they likely share an input; check the code.",
        "If the second kernel reads what the first writes, fusing saves a pass.",
        "Concatenate the weights of projections that share an input.",
        "The launch has few blocks for the device.",
        "The kernel allocates many registers per thread.",
        "Modelled traffic over time gives [[rate]].",
        "The time is far above the one-pass byte model; extra traffic or latency is possible.",
        "The same kernel and shape is slower at the end than at the start.",
        "Each value is read once and written once.",
        "Pad the inner dimension so that rows begin at aligned addresses.",
    ],
)
def test_what_a_trace_supports_passes(prose: str) -> None:
    assert forbidden_claims(prose) == []


def test_a_disclaimer_excuses_only_its_sentence() -> None:
    prose = "Counters are not visible in a trace. Still, bank conflicts slow it down."
    assert len(forbidden_claims(prose)) == 1


def test_the_line_says_what_to_write_instead() -> None:
    line = forbidden_claims("Low occupancy.")[0]
    assert line == (
        "occupancy: 'occupancy' cannot be known from a trace; instead: "
        "the launch has this many blocks for this many SMs or CUs"
    )


def test_our_own_advice_makes_no_such_claim() -> None:
    texts = [
        text
        for path in sorted(SKILLS.glob("*/rules.json"))
        for rule in json.loads(path.read_text())["rules"]
        for text in (rule["title"], rule["observation"], *rule["action"], *rule["reasoning"], *rule["resolution"])
    ]
    assert [claim for text in texts for claim in forbidden_claims(text)] == []
