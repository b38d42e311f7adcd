"""The writer: exact times, ids, flows, metadata, files that are whole or absent."""

import gzip
import json
from decimal import Decimal

import pytest

from tests.evals import reading
from tracelens_tui.evals.collectives import ALL_REDUCE, REDUCE_SCATTER, run_collective
from tracelens_tui.evals.device import Stream
from tracelens_tui.evals.host import HostThread, Kernel
from tracelens_tui.evals.values import SCALAR, Tensor, recorded
from tracelens_tui.evals.writer import BASE_NS, PID, START_NS, Capture, TraceWriter, us

KERNEL = Kernel("k", (8, 1, 1), (256, 1, 1))


def test_times_are_exact_decimals():
    assert us(4_450_000_000_123_456) == "4450000000123.456"
    assert us(1_000) == "1.000"
    assert us(7) == "0.007"


def test_start_is_where_floats_lose_nanoseconds():
    times = range(START_NS, START_NS + 2_000)
    assert any(round(float(us(time)) * 1000) != time for time in times)
    assert BASE_NS % (7_889_238 * 10**9) == 0


def test_a_queue_runs_one_kernel_after_the_other():
    stream = Stream(0, free_ns=100)
    assert stream.enqueue(50, 10) == 101
    assert stream.enqueue(500, 10) == 500
    assert stream.free_ns == 510


def test_a_full_queue_blocks_the_launch(tmp_path):
    with TraceWriter(tmp_path / "t.json") as writer:
        host, stream = HostThread(writer), writer.stream(0)
        for _ in range(1_025):
            host.launch(KERNEL, stream, 1_000_000)
    first, last = writer.gpu_log[0], writer.gpu_log[-1]
    assert host.now >= first.end_ns
    assert last.start_ns - first.start_ns == 1_024 * 1_000_001


def test_recorded_arguments_are_parallel_lists():
    text = recorded((Tensor((2, 3)).transposed(), SCALAR, "-1", "[0, 1]", None, (Tensor((4,), "fp32"),)))
    assert json.loads("{" + text + "}") == {
        "Concrete Inputs": ["", "", "-1", "[0, 1]", "", ""],
        "Input type": ["c10::BFloat16", "double", "Scalar", "ScalarList", "", "TensorList"],
        "Input Strides": [[1, 3], [], [], [], [], [[1]]],
        "Input Dims": [[3, 2], [], [], [], [], [[4]]],
    }


@pytest.fixture
def small(tmp_path):
    """Two ops with two kernels, a copy, a long kernel and two collectives that wait for it, in frames."""
    with TraceWriter(tmp_path / "small.json", Capture(seed=3, world_size=4)) as writer:
        host, compute, comm = HostThread(writer), writer.stream(0), writer.stream(5)
        with host.annotation("ProfilerStep#1"), host.module("Linear", 7), host.frame("a.py(1): f"):
            with host.op("outer", (Tensor((4,)),), sequence=41), host.op("inner"):
                host.launch(KERNEL, compute, 10_000)
                host.launch(KERNEL, compute, 20_001)
            host.copy("DtoH", 4, compute, 3_000)
            host.launch(KERNEL, compute, 900_000)
            run_collective(host, REDUCE_SCATTER, Tensor((4096,)), (compute, comm), ranks=4, bus_gbps=1.0)
            run_collective(host, ALL_REDUCE, Tensor((1024,), "fp32"), (compute, comm), ranks=4, bus_gbps=1.0)
    return reading.load(writer.path), writer


def test_count_of_events_is_what_a_reader_counts(small):
    document, writer = small
    assert sum("ph" in event for event in document["traceEvents"]) == writer.events


def test_nesting_and_ids(small):
    document, _ = small
    outer, inner = (
        next(e for e in reading.events_of(document, "cpu_op") if e["name"] == n) for n in ("outer", "inner")
    )
    assert reading.span(outer)[0] < reading.span(inner)[0] < reading.span(inner)[1] < reading.span(outer)[1]
    assert outer["args"]["Sequence number"] == 41
    assert "Input Dims" not in inner["args"]
    kernels = [e for e in reading.events_of(document, "kernel") if e["name"] == "k"]
    assert {e["args"]["External id"] for e in kernels[:2]} == {inner["args"]["External id"]}
    module, frame = reading.events_of(document, "python_function")[::-1]
    assert module["name"] == "nn.Module: Linear_7"
    assert module["args"]["Python module id"] == 7
    assert frame["args"]["Python parent id"] == module["args"]["Python id"]


def test_launch_and_kernel_share_correlation_and_flow(small):
    document, _ = small
    launches = {e["args"]["correlation"]: e for e in reading.events_of(document, "cuda_runtime")}
    assert len(launches) == len(reading.events_of(document, "cuda_runtime"))
    flows = {(e["ph"], e["id"]): e for e in document["traceEvents"] if e.get("cat") == "ac2g"}
    for event in reading.events_of(document, *reading.GPU):
        number = event["args"]["correlation"]
        assert reading.span(event)[0] > reading.span(launches[number])[0]
        assert flows["s", number]["ts"] == launches[number]["ts"]
        assert (flows["f", number]["pid"], flows["f", number]["ts"]) == (event["pid"], event["ts"])


def test_a_blocking_copy_ends_before_its_call_does(small):
    document, _ = small
    copy = reading.events_of(document, "gpu_memcpy")[0]
    call = next(e for e in reading.events_of(document, "cuda_runtime") if e["name"] == "hipMemcpyWithStream")
    assert reading.span(call)[1] > reading.span(copy)[1]
    assert copy["name"] == "Memcpy DtoH (Device -> Host)"
    assert copy["args"]["bytes"] == 4


def test_collectives_carry_their_message(small):
    document, _ = small
    scatter, reduce = [e for e in reading.events_of(document, "kernel") if e["name"].startswith("nccl")]
    assert (scatter["args"]["In msg nelems"], scatter["args"]["Out msg nelems"]) == (4096, 1024)
    assert (reduce["args"]["Collective name"], reduce["args"]["dtype"]) == ("allreduce", "Float")
    # 8192 bytes x 3/4, and 4096 bytes x 2 x 3/4, at 1 GB/s
    assert [reading.ns(e["dur"]) for e in (scatter, reduce)] == [6_144, 6_144]
    assert reading.span(scatter)[0] > max(
        reading.span(e)[1] for e in reading.events_of(document, "kernel") if e["name"] == "k"
    )
    params = [e for e in reading.events_of(document, "cpu_op") if e["name"] == "record_param_comms"]
    assert [e["args"]["Process Group Ranks"] for e in params] == ["[0, 1, 2, 3]"] * 2


def test_metadata_rows_and_header(small):
    document, _ = small
    rows = {(e["name"], e["pid"], e["tid"]): e["args"] for e in document["traceEvents"] if e["ph"] == "M"}
    assert rows["thread_name", PID, PID] == {"name": f"thread {PID} (python3)"}
    assert rows["thread_name", 2, 5] == {"name": "stream 5 "}
    assert rows["process_labels", 2, 0] == {"labels": "GPU 2"}
    assert document["deviceProperties"][0]["name"] == "AMD Instinct MI300X"
    assert document["distributedInfo"]["world_size"] == 4
    assert document["with_stack"] == document["record_shapes"] == 1


def test_gpu_annotations_surround_their_kernels_by_one_and_two_ns(small):
    document, _ = small
    marks = {e["name"]: reading.span(e) for e in reading.events_of(document, "gpu_user_annotation")}
    inside = [reading.span(e) for e in reading.events_of(document, "kernel", "gpu_memcpy") if e["tid"] == 0]
    assert marks["ProfilerStep#1"] == (min(start for start, _ in inside) - 1, max(end for _, end in inside) + 2)


def test_without_cpu_activity_only_calls_and_gpu_events_remain(tmp_path):
    with TraceWriter(tmp_path / "t.json", Capture(with_cpu=False)) as writer:
        host = HostThread(writer)
        with host.annotation("ProfilerStep#1"), host.frame("f"), host.op("op", (Tensor((2,)),)):
            host.launch(KERNEL, writer.stream(0), 1_000)
    document = reading.load(writer.path)
    assert {e.get("cat") for e in document["traceEvents"] if e["ph"] == "X"} == {"cuda_runtime", "kernel", "Trace"}
    assert "External id" not in reading.events_of(document, "kernel")[0]["args"]


def test_a_failed_writer_leaves_nothing(tmp_path):
    def fail():
        with TraceWriter(tmp_path / "t.json.gz") as writer:
            HostThread(writer).launch(KERNEL, writer.stream(0), 1_000)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_gzip_carries_no_time_and_no_name(tmp_path):
    paths = [tmp_path / "a.json.gz", tmp_path / "b.json.gz", tmp_path / "c.json"]
    for path in paths:
        with TraceWriter(path, Capture(seed=8)) as writer:
            HostThread(writer).launch(KERNEL, writer.stream(0), 1_234)
    first, second, plain = (path.read_bytes() for path in paths)
    assert first == second
    assert first[4:8] == bytes(4)
    assert gzip.decompress(first) == plain


def test_every_time_has_three_digits(small):
    document, _ = small
    for event in document["traceEvents"]:
        for key in ("ts", "dur"):
            if key in event:
                assert isinstance(event[key], Decimal)
                assert event[key].as_tuple().exponent == -3
