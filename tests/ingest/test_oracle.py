"""Real traces against plain Python: json with Decimal, one dictionary per event, nothing shared with the reader."""

import gzip
import json
from collections import Counter
from decimal import Decimal

import polars as pl
import pytest

from tests.ingest.making import same
from tracelens_tui.ingest.load import load_trace
from tracelens_tui.ingest.objects import trace_from_objects
from tracelens_tui.trace.types import GPU_KINDS, Kind

TRACES = ("h100_bert", "h100_qwen", "hta_nccl", "hta_mi250_toy", "hta_sampled_rank0", "mi210_gpu_only", "mi300_qwen",
          "normalization_layers", "torch_compile_triton", "units/sdpa_03_short_seq_overhead")  # fmt: skip
LARGE = ("hta_diff_control", "mi300_resnet_ckpt", "mi300_sd35")
GPU_CATEGORIES = {"kernel", "gpu_memcpy", "gpu_memset"}


def paths(shared, name):
    path = shared / "traces" / f"{name}.json.gz"
    return path, json.loads(gzip.decompress(path.read_bytes()), parse_float=Decimal)


def half_even_ns(value):
    return int((Decimal(value) * 1000).to_integral_value())


def check(path, document, **sizes):
    trace = load_trace(path, **sizes)
    objects = [item for item in document["traceEvents"] if "ph" in item]
    spans = [item for item in objects if item["ph"] == "X"]
    assert trace.metadata.phase_counts == Counter(item["ph"] for item in objects)
    assert trace.metadata.category_counts == Counter(item.get("cat", "") for item in spans)
    assert trace.events["uid"].to_list() == [at for at, item in enumerate(objects) if item["ph"] == "X"]
    assert trace.events["start_ns"].to_list() == [half_even_ns(item["ts"]) for item in spans]
    assert trace.events["dur_ns"].to_list() == [half_even_ns(item["dur"]) for item in spans]
    assert trace.names.gather(trace.events["name"]).to_list() == [item["name"] for item in spans]
    threads = trace.threads.select("pid", "tid")[trace.events["thread"]]
    assert threads.rows() == [(str(item["pid"]), str(item["tid"])) for item in spans]
    check_ids(trace, spans)
    check_arguments(trace, spans)
    check_gpu(trace, spans)


def check_ids(trace, spans):
    read = [item if item["cat"] not in {"python_function", "overhead"} else {} for item in spans]
    correlations = [item.get("args", {}).get("correlation", 0) for item in read]
    assert trace.events["correlation"].to_list() == [max(number, 0) for number in correlations]
    external = [item.get("args", {}).get("External id", 0) for item in read]
    launches = trace.events["kind"].is_in([Kind.CPU_OP, Kind.KERNEL, Kind.RUNTIME]).to_list()
    expected = [number for number, launch in zip(external, launches, strict=True) if launch]
    assert trace.events["external_id"].filter(launches).to_list() == expected


def check_arguments(trace, spans):
    ops = trace.events["kind"] == Kind.CPU_OP
    found = trace.args[trace.events["args"].filter(ops)]
    for column, key in (("dims", "Input Dims"), ("types", "Input type"), ("concrete", "Concrete Inputs")):
        expected = [item.get("args", {}).get(key, "") for item in spans if item["cat"] == "cpu_op"]
        assert [json.loads(text) if text else "" for text in found[column]] == expected


def check_gpu(trace, spans):
    rows = trace.events.filter(pl.col("kind").is_in(GPU_KINDS))
    gpu = [item for item in spans if item["cat"] in GPU_CATEGORIES]
    places = [(item["args"].get("device", item["pid"]), item["args"].get("stream", item["tid"])) for item in gpu]
    assert rows.select("device", "stream").rows() == [(int(device), int(stream)) for device, stream in places]
    grids = trace.details["grid"][rows["detail"]].to_list()
    assert [json.loads(grid) if grid else None for grid in grids] == [item["args"].get("grid") for item in gpu]


@pytest.mark.parametrize("name", TRACES)
def test_real_traces_are_read_to_the_last_digit(shared, name):
    path, document = paths(shared, name)
    check(path, document)
    check(path, document, stretch=30_000)


@pytest.mark.nightly
@pytest.mark.parametrize("name", LARGE)
def test_large_real_traces_are_read_to_the_last_digit(shared, name):
    check(*paths(shared, name))


@pytest.mark.parametrize("name", TRACES)
def test_both_decoders_agree_on_real_traces(shared, name):
    path, document = paths(shared, name)
    fast = load_trace(path, stretch=30_000)
    same(fast, trace_from_objects(document.pop("traceEvents"), metadata=document))


def test_gpu_names_of_files_whose_device_list_may_be_empty(shared):
    trace = load_trace(shared / "traces" / "h100_bert.json.gz")
    assert trace.metadata.gpu_name_hints == ("NVIDIA H100 80GB HBM3",)
    assert [device.name for device in trace.metadata.devices] == ["NVIDIA H100 80GB HBM3"]
    assert (trace.metadata.with_stack, trace.metadata.record_shapes) == (True, True)


def test_known_totals(shared):
    """Busy inputs of published analyses: events, GPU events by kind, sum of kernel time in ns."""
    known = {
        "h100_qwen": (18_221, (1465, 1, 241), 45_432_698),
        "mi300_qwen": (18_090, (1516, 1, 0), 43_062_042),
        "mi210_gpu_only": (2_443, (562, 0, 0), 5_343_422),
        "hta_nccl": (40_573, (2700, 960, 114), 162_532_340),
        "hta_mi250_toy": (220, (14, 2, 0), 110_881),
    }
    for name, (events, counts, kernel_ns) in known.items():
        trace = load_trace(shared / "traces" / f"{name}.json.gz")
        assert sum(trace.metadata.phase_counts.values()) == events
        assert tuple(trace.events.filter(kind=kind).height for kind in GPU_KINDS) == counts
        assert trace.events.filter(kind=Kind.KERNEL)["dur_ns"].sum() == kernel_ns
