"""Models, roofs and categories against the tables that TraceLens computed for the same traces."""

import ast
import csv
import gzip
import json
import re
from collections.abc import Iterator

import pytest

from tests.perf.calling import args as recorded_args
from tracelens_tui.perf.categories import op_category
from tracelens_tui.perf.kernels import rule_of
from tracelens_tui.perf.parse import op_args
from tracelens_tui.perf.platforms import platform_from_file
from tracelens_tui.perf.registry import cost_of, default_registry
from tracelens_tui.perf.roofline import gb_per_s, roof_of, tflops_per_s

csv.field_size_limit(1 << 28)
TRACES = ("mi300_qwen", "h100_qwen", "mi300_sd35", "h100_bert")
DEVIATIONS = {
    # a 0-dim fp32 tensor does not widen a bf16 one: PyTorch writes bf16, the reference counts fp32
    ("aten::mul", "((), (1, 16, 128, 128))"),
    # the reference has no size for bool
    ("aten::copy_", "((256, 256), (256, 256), ())"),
}


def rows(folder, table) -> Iterator[dict[str, str]]:
    with gzip.open(folder / "csvs" / f"{table}.csv.gz", "rt", newline="") as file:
        yield from csv.DictReader(file)


def as_json(text: str) -> str:
    return json.dumps(ast.literal_eval(text)) if text else ""


def arguments(row):
    columns = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")
    return op_args(row["name"], *(as_json(row[column]) for column in columns))


def number(text: str) -> float | None:
    return float(text) if text else None


@pytest.mark.parametrize("trace", TRACES)
def test_flops_bytes_and_roofs(shared, trace):
    arch = "arch_h100_reference.json" if trace.startswith("h100") else "arch_mi300x_reference.json"
    platform = platform_from_file(shared / "oracle" / arch)
    compared = 0
    for row in rows(shared / "oracle" / trace, "unified_perf_summary"):
        if not row["GFLOPS"] or row["name"] not in default_registry().names:
            continue
        if (row["name"], row["Input Dims"]) in DEVIATIONS:
            continue
        where = (row["name"], row["Input Dims"], row["Input type"])
        cost = cost_of(arguments(row))
        assert cost is not None, where
        assert cost.flops == pytest.approx(float(row["GFLOPS"]) * 1e9, rel=5e-3), where
        assert cost.bytes_moved is not None, where
        assert cost.bytes_moved / 2**20 == pytest.approx(float(row["Data Moved (MB)"]), rel=5e-3), where
        reference = number(row["Roofline Time (µs)_first"])
        if reference is not None:
            roof = roof_of(cost, platform)
            assert roof is not None, where
            assert roof.time_ns / 1e3 == pytest.approx(reference, rel=1e-2), where
            assert roof.bound == row["Roofline Bound"].removesuffix("_BOUND").lower(), where
            if row["operation_count"] == "1":
                percent = 100 * roof.time_ns / 1e3 / float(row["Kernel Time (µs)_sum"])
                assert percent == pytest.approx(float(row["Pct Roofline_mean"]), rel=1e-2), where
        compared += 1
    assert compared >= 7


def kernels_of(row) -> list[str]:
    return re.findall(r"'name': '([^']*)'", row["kernel_details_summary"] or "")


@pytest.mark.parametrize("trace", [*TRACES, "mi300_owlv2", "mi300_resnet_ckpt", "normalization_layers", "hta_nccl"])
def test_named_categories(shared, trace):
    """Whatever has a named category there has it here; what is "other" there may be named here."""
    for row in rows(shared / "oracle" / trace, "ops_unique_args"):
        if row["op category"] != "other":
            assert op_category(row["name"], kernels_of(row)) == row["op category"], row["name"]


@pytest.mark.parametrize("trace", TRACES)
def test_nearly_all_kernel_time_is_of_a_known_kind(shared, trace):
    known = total = 0.0
    for row in rows(shared / "oracle" / trace, "kernel_summary"):
        time = float(row["Kernel duration (µs)_sum"])
        rule = rule_of(row["Kernel name"])
        total += time
        known += time if rule is not None and rule.kind != "unknown" else 0.0
    assert known / total > 0.999


def calls(shared, case):
    trace = json.loads((shared / "bugcases" / f"{case}.json").read_text())
    for event in trace["traceEvents"]:
        if event.get("cat") == "cpu_op":
            recorded = event["args"]
            kernel = next(
                e for e in trace["traceEvents"]
                if e.get("cat") == "kernel" and e["args"]["External id"] == recorded["External id"]
            )  # fmt: skip
            yield (
                recorded["External id"],
                cost_of(
                    recorded_args(
                        event["name"],
                        recorded.get("Input Dims", []),
                        recorded.get("Input type", []),
                        recorded.get("Concrete Inputs", []),
                    )
                ),
                1000 * kernel["dur"],
            )


def expected(shared, case):
    return json.loads((shared / "bugcases" / "expected.json").read_text())["cases"][case]["expect"]


def test_matrix_products_of_every_kind(shared):
    want = expected(shared, "B89")["by_external_id"]
    for uid, cost, kernel_ns in calls(shared, "B89_gemm_and_fp8_scaled_mm"):
        values = want[str(uid)]
        flops = 2_149_580_800 if uid == 3 else values["flops"]  # the bias add is counted
        assert cost is not None
        assert (cost.flops, cost.bytes_moved) == (flops, values["bytes"])
        if uid != 3:
            rate = tflops_per_s(cost, kernel_ns)
            assert (None if rate is None else f"{rate:.3f}") == values["tflops_per_s"]
        bandwidth = gb_per_s(cost, kernel_ns)
        assert (None if bandwidth is None else f"{bandwidth:.3f}") == values["gb_per_s"]


def test_grouped_query_and_causal_attention(shared):
    want = expected(shared, "B91")
    for uid, cost, _ in calls(shared, "B91_sdpa_gqa_causal"):
        assert cost is not None
        assert cost.flops == want["flops_half_convention"][str(uid)]
        assert cost.bytes_moved == want["bytes"][str(uid)]


def test_ops_without_shapes_are_not_modelled(shared):
    want = expected(shared, "B93")
    found = {uid: cost for uid, cost, _ in calls(shared, "B93_missing_shapes")}
    assert [uid for uid, cost in found.items() if cost is None] == want["not_available_external_ids"]
    modelled = found[want["modelled"]["external_id"]]
    assert modelled is not None
    assert (modelled.flops, modelled.bytes_moved) == (want["modelled"]["flops"], want["modelled"]["bytes"])
