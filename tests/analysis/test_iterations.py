"""Serving iterations around calls, and ops that count only as leaves."""

import pytest

from tests.analysis.making import analysed, kernel, launch, op

BF16 = "c10::BFloat16"
QKV = {"dims": [[4, 32, 128], [4, 8, 128], [4, 8, 128], [4, 32, 128]], "types": [BF16] * 4}
ATTENTION = "vllm::unified_attention_with_output"
FIRST = "execute_4_context_0(0)_generation_4(sq4sk400sqsq4sqsk400)"
SECOND = "execute_4_context_0(0)_generation_4(sq4sk404sqsq4sqsk404)"
PER_PAIR = 2 * 32 * (128 + 128)


def mark(name, ts, dur, pid=1):
    return {"ph": "X", "cat": "user_annotation", "name": name, "ts": ts, "dur": dur, "pid": pid, "tid": 1, "args": {}}


def call(at, number):
    return [op(ATTENTION, at, 10, **QKV), launch(number, at + 2), kernel("paged", at + 500, 20, number)]


def attention(analysis):
    rows = analysis.ops.filter(analysis.ops["name"] == ATTENTION).sort("first_event")
    return rows.select("flops", "count", "kernel_ns_sum").rows()


def test_calls_of_different_iterations_are_different_rows():
    events = [mark(FIRST, 0, 100), *call(10, 1), *call(30, 2), mark(SECOND, 100, 100), *call(110, 3), *call(300, 4)]
    assert attention(analysed(events)) == [
        (PER_PAIR * 400, 2, 40_000),
        (PER_PAIR * 404, 1, 20_000),
        (None, 1, 20_000),  # after the last iteration: nothing tells its batch
    ]


def test_an_iteration_of_another_process_says_nothing():
    assert attention(analysed([mark(FIRST, 0, 100, pid=2), *call(10, 1)])) == [(None, 1, 20_000)]


def test_annotations_that_describe_no_batch_are_passed_over():
    events = [mark(FIRST, 0, 100), mark("forward", 5, 50), *call(10, 1)]
    assert attention(analysed(events)) == [(PER_PAIR * 400, 1, 20_000)]


def test_other_ops_do_not_split_by_iteration():
    def mm(at, number):
        dims = {"dims": [[8, 8], [8, 8]], "types": [BF16] * 2}
        return [op("aten::mm", at, 10, **dims), launch(number, at + 2), kernel("gemm", at + 500, 20, number)]

    analysis = analysed([mark(FIRST, 0, 100), *mm(10, 1), mark(SECOND, 100, 100), *mm(110, 2)])
    assert analysis.ops.select("name", "count").rows() == [("aten::mm", 2)]


def linear(inner):
    dims = {"dims": [[4, 8], [16, 8], [16]], "types": [BF16] * 3}
    return [op("aten::linear", 0, 50, **dims), *inner, launch(1, 10), kernel("gemm", 500, 20, 1)]


def test_linear_has_a_model_where_nothing_below_it_has():
    (row,) = analysed(linear([])).ops.select("name", "flops").rows()
    assert row == ("aten::linear", 2 * 4 * 16 * 8 + 4 * 16)


def test_linear_leaves_the_row_to_the_product_below_it():
    inner = op("aten::mm", 5, 20, dims=[[4, 8], [8, 16]], types=[BF16] * 2)
    (row,) = analysed(linear([inner])).ops.select("name", "flops").rows()
    assert row == ("aten::mm", 2 * 4 * 16 * 8)


def test_experts_have_a_range_of_efficiency():
    dims = [[16, 64], [8, 64, 64], [8, 64, 32], [16, 2], [16, 2]]
    types = [BF16, BF16, BF16, "float", "int"]
    events = [
        op("vllm::outplace_fused_experts", 0, 50, dims=dims, types=types),
        launch(1, 10),
        kernel("fused_moe_kernel", 500, 20, 1),
    ]
    row = analysed(events).ops.row(0, named=True)
    each = 2 * 3 * 64 * 32  # bytes of an expert
    least, most = 2 * 2 * 16 * 64 + 2 * each, 2 * 2 * 16 * 64 + 8 * each
    assert f'"bytes_min":{least},"bytes_max":{most}' in row["params"]
    assert row["efficiency_low"] / row["efficiency_high"] == pytest.approx(least / most)
    assert row["efficiency_low"] < row["efficiency"] < row["efficiency_high"]
