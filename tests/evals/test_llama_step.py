"""The demo trace, read with nothing of the project's code."""

from collections import Counter, defaultdict
from decimal import Decimal
from itertools import pairwise

import pytest

from tests.evals import reading
from tracelens_tui.evals.llama_step import write_llama_step

LIMIT_BYTES = 3 << 20


def test_same_seed_same_bytes_other_seed_other_bytes(llama, tmp_path):
    again = write_llama_step(tmp_path / "again.json.gz").path.read_bytes()
    other = write_llama_step(tmp_path / "other.json.gz", seed=1).path.read_bytes()
    assert again == llama.planted.path.read_bytes()
    assert other != again


def test_size(llama):
    events = [event for event in llama.document["traceEvents"] if "ph" in event]
    assert len(events) == llama.planted.events >= 20_000
    assert llama.planted.path.stat().st_size <= LIMIT_BYTES


def test_it_has_what_a_training_step_has(llama):
    counts = Counter(event.get("cat") for event in llama.document["traceEvents"])
    assert all(counts[cat] for cat in ("cpu_op", "python_function", "cuda_runtime", "kernel", "gpu_memcpy", "fwdbwd"))
    names = {event["name"] for event in reading.events_of(llama.document, "python_function")}
    assert {"nn.Module: LlamaDecoderLayer_0", "nn.Module: LlamaDecoderLayer_15"} <= names
    kernels = reading.events_of(llama.document, "kernel")
    assert {event["args"]["stream"] for event in kernels} == {0, 5}
    collectives = Counter(event["args"].get("Collective name") for event in kernels)
    assert (collectives["_reduce_scatter_base"], collectives["allreduce"]) == (16, 1)
    directions = {event["args"]["kind"] for event in reading.events_of(llama.document, "gpu_memcpy")}
    assert directions == {"HtoD", "DtoH"}


def test_kernels_follow_their_launch_and_never_overlap_on_a_stream(llama):
    launches = {e["args"]["correlation"]: e for e in reading.events_of(llama.document, "cuda_runtime")}
    streams = defaultdict(list)
    for event in reading.events_of(llama.document, *reading.GPU):
        start, end = reading.span(event)
        assert start > reading.span(launches[event["args"]["correlation"]])[0]
        streams[event["args"]["stream"]].append((start, end))
    for spans in streams.values():
        spans.sort()
        assert all(before[1] <= after[0] for before, after in pairwise(spans))


def test_host_events_nest_on_every_thread(llama):
    rows = defaultdict(list)
    for event in reading.events_of(llama.document, "cpu_op", "python_function", "cuda_runtime", "user_annotation"):
        rows[event["tid"]].append(reading.span(event))
    assert len(rows) == 2
    for spans in rows.values():
        spans.sort(key=lambda pair: (pair[0], -pair[1]))
        open_ends: list[int] = []
        for start, end in spans:
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1]
            open_ends.append(end)


def test_backward_ops_carry_the_sequence_number_of_a_forward_op(llama):
    forward, backward = set(), set()
    for event in reading.events_of(llama.document, "cpu_op"):
        number = event["args"].get("Sequence number")
        if number is not None:
            (backward if event["args"]["Fwd thread id"] else forward).add(number)
    assert backward
    assert backward <= forward
    flows = Counter((e["ph"], e["id"]) for e in llama.document["traceEvents"] if e.get("cat") == "fwdbwd")
    assert set(flows.values()) == {1}
    assert {number for _, number in flows} == backward


def test_planted_gemm_efficiencies_come_out_of_the_file(llama):
    least, kernel = defaultdict(Decimal), Counter()
    for call in reading.calls(llama.document):
        if call.event["name"] == "aten::mm":
            key = str(call.event["args"]["Input Dims"]), str(call.event["args"]["Input Strides"])
            least[key] += reading.gemm_least_ns(call.event["args"])
            kernel[key] += call.kernel_ns
    efficiencies = sorted(round(float(least[key] / kernel[key]), 4) for key in kernel)
    assert Counter(efficiencies) == {0.31: 1, 0.33: 1, 0.36: 1, 0.69: 4, 0.72: 4, 0.76: 4}


def test_planted_attention_efficiency_comes_out_of_the_file(llama):
    forward = [
        c for c in reading.calls(llama.document) if c.event["name"] == "aten::_scaled_dot_product_flash_attention"
    ]
    batch, heads, rows, dim = forward[0].event["args"]["Input Dims"][0]
    flops = 4 * batch * heads * rows * rows * dim // 2  # causal
    measured = flops * len(forward) / sum(call.kernel_ns for call in forward) / 708e3
    assert len(forward) == 16
    assert measured == pytest.approx(0.17, abs=1e-6)


def test_planted_bandwidth_comes_out_of_the_file(llama):
    wide = [[1, 4096, 4096], [1, 4096, 4096]]
    products = [
        call
        for call in reading.calls(llama.document)
        if call.event["name"] == "aten::mul"
        and call.event["args"]["Input Dims"] == wide
        and call.event["args"]["Input type"] == ["float", "float"]
    ]
    bandwidth = 3 * 4 * 4096 * 4096 * len(products) / sum(call.kernel_ns for call in products)  # bytes/ns
    assert bandwidth / 5300 == pytest.approx(0.26, abs=1e-5)


def test_time_split(llama):
    spans = defaultdict(list)
    for event in reading.events_of(llama.document, *reading.GPU):
        role = "comm" if event["name"].startswith("nccl") else "copy" if event["cat"] == "gpu_memcpy" else "compute"
        spans[role].append(reading.span(event))
    every = [pair for group in spans.values() for pair in group]
    split = llama.planted.split
    assert split.window == max(end for _, end in every) - min(start for start, _ in every)
    assert split.busy == reading.covered(every)
    assert split.compute == reading.covered(spans["compute"])
    assert split.comm == reading.covered(spans["comm"])
    assert split.exposed_comm == reading.covered(spans["comm"] + spans["compute"]) - split.compute
    assert split.idle / split.window > 0.15  # cpu-idle activates


def test_the_longest_gap_follows_the_read_of_the_loss(llama):
    busy = reading.merged([reading.span(event) for event in reading.events_of(llama.document, *reading.GPU)])
    gap = max(pairwise(busy), key=lambda pair: pair[1][0] - pair[0][1])
    before = next(e for e in reading.events_of(llama.document, *reading.GPU) if reading.span(e)[1] == gap[0][1])
    assert before["name"] == "Memcpy DtoH (Device -> Host)"
    assert gap[1][0] - gap[0][1] == llama.planted.facts["longest_gap_ns"]
    assert gap[1][0] - gap[0][1] > 0.85 * llama.planted.split.idle


def test_problems_state_their_share_of_the_window(llama):
    window = llama.planted.split.window
    kinds = [found.kind for found in llama.planted.problems]
    assert kinds == ["gemm", "attention", "attention", "elementwise", "cpu-idle", "multi-kernel"]
    for found in llama.planted.problems:
        assert found.share == found.time_ns / window
        assert found.share > 0.02
    head = llama.planted.problems[0]
    mm = [c for c in reading.calls(llama.document) if c.event["name"] == "aten::mm"]
    assert head.time_ns == sum(c.kernel_ns for c in mm if "32003" in str(c.event["args"]["Input Dims"]))
    reduce = next(
        e for e in reading.events_of(llama.document, "kernel") if e["args"].get("Collective name") == "allreduce"
    )
    assert llama.planted.problems[-1].time_ns == reading.ns(reduce["dur"])


def test_fewer_layers_make_a_smaller_step(tmp_path):
    planted = write_llama_step(tmp_path / "two.json", layers=2)
    assert 2_000 < planted.events < 6_000
    assert reading.load(planted.path)["traceName"] == "llama_step.json"
