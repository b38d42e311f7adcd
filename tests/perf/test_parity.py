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
ALL_TRACES = (
    *TRACES,
    *("h100_timesformer", "h100_vit_nsfw", "mi300_owlv2", "mi300_resnet_ckpt", "normalization_layers", "hta_mi250_toy"),
)
X, Y = "(8, 16, 32, 32)", "(1, 128, 32, 32)"
DEVIATIONS = {
    # where the reference is wrong, by op and input dims: FLOPs and bytes worked out by hand
    # a 0-dim fp32 tensor does not widen a bf16 one: 262,144 in, 262,144 out and 4 bytes
    ("aten::mul", "((), (1, 16, 128, 128))"): (262_144, 4 + 2 * 2 * 262_144),
    # an in-place op writes in its own type: 20,736 of 2 bytes read and written, as many of 4 read
    ("aten::add_", "((1, 5184, 4), (5184, 4), ())"): (20_736, 20_736 * (2 + 4 + 2)),
    # two tensors read, one written
    ("aten::min", "((256, 256), (256, 256))"): (65_536, 3 * 8 * 65_536),
    # a layer norm keeps mean and rstd per row, in fp32
    ("aten::layer_norm", "((1, 77, 1280), (), (1280,), (1280,), (), ())"): (500_480, 4 * 98_560 + 4 * 1280 + 8 * 77),
    ("aten::layer_norm", "((1, 77, 768), (), (768,), (768,), (), ())"): (300_288, 4 * 59_136 + 4 * 768 + 8 * 77),
    ("aten::layer_norm", "((1, 141, 512), (), (512,), (512,), (), ())"): (364_032, 4 * 72_192 + 4 * 512 + 8 * 141),
    ("aten::layer_norm", "((1, 5, 768), (), (768,), (768,), (), ())"): (23_808, 4 * 3840 + 4 * 768 + 8 * 5),
    ("aten::layer_norm", "((1, 1024), (), (1024,), (1024,), (), ())"): (11_264, 8 * 1024 + 8),
    ("aten::layer_norm", f"({X}, (), (16, 32, 32), (16, 32, 32), (), ())"): (753_664, 1_179_712),
    ("aten::layer_norm", f"({X}, (), (), (), (), ())"): (753_664, 1_048_640),
    (
        "aten::native_layer_norm_backward",
        f"({X}, {X}, (), (8, 1, 1, 1), (8, 1, 1, 1), (16, 32, 32), (16, 32, 32), ())",
    ): (1_179_648, 1_769_536),
    ("aten::native_layer_norm_backward", f"({X}, {X}, (), (8, 1, 1, 1), (8, 1, 1, 1), (), (), ())"): (
        1_179_648,
        1_572_928,
    ),
    # no product with a weight that is not there
    ("aten::_fused_rms_norm", f"({X}, (), (), ())"): (393_472, 1_049_088),
    ("aten::_fused_rms_norm_backward", f"({X}, {X}, (), (8, 16, 1, 1), (), ())"): (917_504, 1_573_376),
    # always in training: 9 per element, three tensors of the input's size, five of its channels (or less)
    ("aten::miopen_batch_norm_backward", f"({X}, {X}, (16,), (16,), (16,), (16,), (16,), ())"): (
        1_179_648,
        12 * 131_072 + 4 * 5 * 16,
    ),
    ("aten::miopen_batch_norm_backward", f"({Y}, {Y}, (128,), (), (), (128,), (128,), ())"): (
        1_179_648,
        12 * 131_072 + 4 * 5 * 128,
    ),
    # a result for every position that is kept
    ("aten::mean", "((1, 8, 768), (), (), ())"): (6144, 2 * 6144 + 2 * 768),
    ("aten::mean", "((10, 512, 7, 7), (), (), ())"): (250_880, 2 * 250_880 + 2 * 5120),
    ("aten::sum", "((10, 1000), (), (), ())"): (10_000, 20_000 + 2000),
    ("aten::sum", "((8, 16), (), (), ())"): (128, 512 + 64),
    ("aten::sum", "((5, 128), (), (), ())"): (640, 2560 + 512),
    # the mask asks for the weight's gradient alone
    (
        "aten::convolution_backward",
        "((10, 64, 112, 112), (10, 3, 224, 224), (64, 3, 7, 7), (), (), (), (), (), (), (), ())",
    ): (2_360_279_040, 2 * (8_028_160 + 1_505_280 + 9408)),
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


@pytest.mark.parametrize("trace", ALL_TRACES)
def test_flops_bytes_and_roofs(shared, trace):
    arch = "arch_h100_reference.json" if trace.startswith("h100") else "arch_mi300x_reference.json"
    platform = platform_from_file(shared / "oracle" / arch)
    compared = 0
    for row in rows(shared / "oracle" / trace, "unified_perf_summary"):
        if not row["GFLOPS"] or row["name"] not in default_registry().names:
            continue
        where = (row["name"], row["Input Dims"])
        cost = cost_of(arguments(row))
        assert cost is not None, where
        compared += 1
        if where in DEVIATIONS:
            assert (cost.flops, cost.bytes_moved) == DEVIATIONS[where], where
            continue
        assert cost.flops == pytest.approx(float(row["GFLOPS"]) * 1e9, rel=5e-3), where
        if not row["Data Moved (MB)"]:  # a type without a size there
            continue
        assert cost.bytes_moved is not None, where
        assert cost.bytes_moved / 2**20 == pytest.approx(float(row["Data Moved (MB)"]), rel=5e-3), where
        reference = number(row.get("Roofline Time (µs)_first", ""))
        if reference is not None:
            roof = roof_of(cost, platform)
            assert roof is not None, where
            assert roof.time_ns / 1e3 == pytest.approx(reference, rel=1e-2), where
            assert roof.bound == row["Roofline Bound"].removesuffix("_BOUND").lower(), where
            if row["operation_count"] == "1":
                percent = 100 * roof.time_ns / 1e3 / float(row["Kernel Time (µs)_sum"])
                assert percent == pytest.approx(float(row["Pct Roofline_mean"]), rel=1e-2), where
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
