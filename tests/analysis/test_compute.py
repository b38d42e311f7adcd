"""The frames of an analysis, computed by hand for a trace of two matrix products, a collective and an orphan."""

import json

import polars as pl
import pytest

from tests.analysis.making import PLATFORM, Event, analysed, kernel, launch, mm, op
from tracelens_tui.analysis.model import CALLS_SCHEMA, GAPS_SCHEMA, GPU_SCHEMA, KERNELS_SCHEMA, OPS_SCHEMA
from tracelens_tui.errors import UserError

ALLREDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
FLOPS = 2 * 1000 * 1000 * 1000
BYTES = 2 * 3 * 1000 * 1000


def two_products() -> list[Event]:
    """Two equal products of 40 and 60 µs; an all-reduce over the last 20 µs of the second; 10 µs of nobody's."""
    return [
        mm(0, 10, 1000, 1000, 1000),
        launch(1, 5),
        mm(20, 12, 1000, 1000, 1000),
        launch(2, 25),
        op("record_param_comms", 40, 10),
        launch(3, 42),
        kernel("Cijk_gemm", 100, 40, 1),
        kernel("Cijk_gemm", 140, 60, 2),
        kernel(ALLREDUCE, 180, 50, 3, stream=9),
        kernel("orphan", 240, 10, 99),
    ]


def test_every_frame_has_its_schema() -> None:
    for events in ([], two_products()):
        analysis = analysed(events)
        frames = (analysis.ops, analysis.calls, analysis.gpu, analysis.kernels, analysis.gaps)
        schemas = (OPS_SCHEMA, CALLS_SCHEMA, GPU_SCHEMA, KERNELS_SCHEMA, GAPS_SCHEMA)
        assert [dict(frame.schema) for frame in frames] == [
            {name: dtype() for name, dtype in schema.items()} for schema in schemas
        ]


def test_equal_calls_share_a_row_with_cost_and_roofline() -> None:
    (row,) = analysed(two_products()).ops.to_dicts()
    assert row["name"] == "aten::mm"
    assert json.loads(row["dims"]) == [[1000, 1000], [1000, 1000]]
    assert (row["count"], row["host_ns_sum"], row["kernel_ns_sum"]) == (2, 22_000, 100_000)
    assert (row["flops"], row["bytes"], row["spec"]) == (FLOPS, BYTES, "matrix_bf16")
    assert row["roof_ns"] == pytest.approx(20_000)  # 2e9 FLOP at 100 TFLOPS; 6 MB at 1000 GB/s take 6 µs
    assert row["bound"] == "compute"
    assert row["efficiency"] == pytest.approx(2 * 20_000 / 100_000)
    assert row["pct_roofline_mean"] == pytest.approx((100 * 20 / 40 + 100 * 20 / 60) / 2)
    assert row["kernel_time_cov"] == pytest.approx(200**0.5 / 50)  # of 40 and 60, with n − 1
    assert row["modelled"]


def test_exposed_time_leaves_out_what_another_stream_overlaps() -> None:
    assert analysed(two_products()).ops["exposed_ns"].to_list() == [80_000.0]


def test_collectives_and_orphans_are_in_the_kernels_alone() -> None:
    analysis = analysed(two_products())
    kernels = {row["kernel"]: (row["row"], row["count"], row["sum_ns"]) for row in analysis.kernels.to_dicts()}
    assert kernels == {"Cijk_gemm": (0, 2, 100_000), ALLREDUCE: (None, 1, 50_000), "orphan": (None, 1, 10_000)}
    assert analysis.gpu["row"].to_list() == [0, 0, None, None]
    assert analysis.kernels["sum_ns"].sum() == sum((40, 60, 50, 10)) * 1_000


def test_a_kernel_has_the_category_of_the_row_that_it_is_counted_under() -> None:
    events = [mm(0, 10, 64, 64, 64), launch(1, 5), kernel("helper", 100, 5, 1), kernel("helper", 110, 4, 99)]
    analysis = analysed(events)
    assert analysis.kernels.select("row", "category").rows() == [(0, "GEMM"), (None, "other")]
    assert analysis.gpu["category"].to_list() == ["GEMM", "other"]


def test_calls_point_from_events_to_rows() -> None:
    calls = analysed(two_products()).calls
    assert calls.rows() == [(0, 0, 40_000, 10_000), (2, 0, 60_000, 12_000)]


def test_without_a_platform_only_the_rooflines_are_missing() -> None:
    (row,) = analysed(two_products(), None).ops.to_dicts()
    assert (row["flops"], row["bytes"], row["spec"]) == (FLOPS, BYTES, "matrix_bf16")
    assert [row[name] for name in ("roof_ns", "bound", "efficiency", "pct_roofline_mean")] == [None] * 4


def test_kernel_time_of_a_call_is_a_union_not_a_sum() -> None:
    events = [
        op("two_streams", 0, 10),
        launch(1, 1),
        launch(2, 3),
        kernel("a", 20, 10, 1),
        kernel("b", 25, 10, 2, stream=8),
    ]
    (row,) = analysed(events).ops.to_dicts()
    assert row["kernel_ns_sum"] == 15_000
    assert row["exposed_ns"] == 15_000.0


def test_a_call_without_kernel_time_has_no_efficiency() -> None:
    events = [mm(0, 10, 64, 64, 64), launch(1, 5), kernel("Cijk_gemm", 20, 0, 1), kernel("other", 30, 5, 0)]
    (row,) = analysed(events).ops.to_dicts()
    assert row["kernel_ns_sum"] == 0
    assert [row[name] for name in ("efficiency", "pct_roofline_mean")] == [None, None]


def test_synthetic_rows_take_the_arguments_of_the_nearest_op() -> None:
    events = [
        op("loss", 0, 50, dims=[[8, 8]]),
        launch(1, 2),
        mm(10, 10, 64, 64, 64),
        launch(2, 12),
        kernel("loss_kernel", 60, 4, 1),
        kernel("Cijk_gemm", 70, 5, 2),
        kernel("bare", 80, 3, 4),
        launch(4, 60),
    ]
    rows = {row["name"]: (row["dims"].replace(" ", ""), row["host_ns_sum"]) for row in analysed(events).ops.to_dicts()}
    assert rows == {
        "aten::mm": ("[[64,64],[64,64]]", 10_000),
        "loss->loss_kernel (Synthetic Op)": ("[[8,8]]", 50_000),
        "hipLaunchKernel->bare (Synthetic Op)": ("", 1_000),
    }


def test_each_device_has_its_own_rows() -> None:
    events = [
        mm(0, 10, 64, 64, 64),
        launch(1, 5),
        mm(20, 10, 64, 64, 64),
        launch(2, 25),
        kernel("Cijk_gemm", 40, 5, 1),
        kernel("Cijk_gemm", 40, 9, 2, device=1),
    ]
    analysis = analysed(events)
    assert analysis.ops.select("device", "kernel_ns_sum", "exposed_ns").rows() == [
        (1, 9_000, 9_000.0),
        (0, 5_000, 5_000.0),
    ]
    assert analysis.device == 1
    assert analysed(events, device=0).device == 0


def test_a_device_that_is_not_there_is_an_error_that_names_those_that_are() -> None:
    with pytest.raises(UserError, match=r"device 7; choose with --device from: 0\."):
        analysed(two_products(), device=7)


def test_a_trace_without_gpu_events_gives_an_empty_analysis() -> None:
    analysis = analysed([op("aten::add", 0, 5)])
    assert (analysis.device, analysis.split, analysis.ops.height) == (-1, None, 0)


def test_progress_is_reported_to_the_end() -> None:
    from tests.analysis.making import opened
    from tracelens_tui.analysis.compute import analyse

    seen: list[tuple[str, int, int]] = []
    analyse(*opened(two_products()), PLATFORM, progress=lambda *step: seen.append(step))
    assert seen[0] == ("analyse", 0, seen[-1][2])
    assert seen[-1][1] == seen[-1][2]


def test_rows_come_by_kernel_time() -> None:
    ops = analysed([*two_products(), op("cat", 60, 5), launch(8, 61), kernel("cat_kernel", 300, 500, 8)]).ops
    assert ops["kernel_ns_sum"].is_sorted(descending=True)
    assert ops["row"].to_list() == [0, 1]
    assert ops.filter(pl.col("name") == "cat")["row"].item() == 0
