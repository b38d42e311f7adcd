"""Device names and properties are those of real traces and device dumps."""

import gzip
import json

import pytest

from tracelens_tui.perf.platforms import detect
from tracelens_tui.trace.types import DeviceProperties, Source, TraceMetadata

GIB = 1 << 30
AMD, NV = 64, 32


def device(name, sms=None, memory=None, version=(None, None), warp=None) -> DeviceProperties:
    return DeviceProperties(0, name, sms, memory, version[0], version[1], warp)


def metadata(*devices: DeviceProperties, hints=()) -> TraceMetadata:
    return TraceMetadata(Source("t.json", "kineto", 1), devices=devices, gpu_name_hints=tuple(hints))


def found(*devices: DeviceProperties, hints=()) -> tuple[str | None, str]:
    platform, how = detect(metadata(*devices, hints=hints))
    return (platform.name if platform else None), how


@pytest.mark.parametrize(
    ("name", "sms", "memory", "platform"),
    [
        ("NVIDIA H100 80GB HBM3", 132, 85018279936, "H100-SXM"),
        ("NVIDIA H100 PCIe", 114, 80 * GIB, "H100-PCIe"),
        ("NVIDIA H100 NVL", 132, 94 * GIB, "H100-NVL"),
        ("NVIDIA H200", 132, 141 * GIB, "H200"),
        ("NVIDIA H20", 78, 96 * GIB, "H20"),
        ("NVIDIA B200", 148, 191503138816, "B200"),
        ("NVIDIA GB200", 152, 186 * GIB, "GB200"),
        ("Tesla V100-SXM2-16GB", 80, 16945512448, "V100-SXM2-16GB"),
        ("Tesla V100-SXM2-32GB", 80, 34079637504, "V100-SXM2-32GB"),
        ("Tesla V100-PCIE-32GB", 80, 32 * GIB, "V100-PCIe-32GB"),
        ("NVIDIA A100-SXM4-80GB", 108, 84990623744, "A100-SXM-80GB"),
        ("NVIDIA A100-PG509-200", 108, 42297524224, "A100-SXM-40GB"),
        ("NVIDIA A100 80GB PCIe", 108, 80 * GIB, "A100-PCIe-80GB"),
        ("NVIDIA A10", 72, 24 * GIB, "A10"),
        ("NVIDIA A10G", 80, 22587 << 20, "A10G"),
        ("NVIDIA L4", 58, 24 * GIB, "L4"),
        ("NVIDIA L40S", 142, 45589 << 20, "L40S"),
        ("GeForce RTX 3090", 82, 24 * GIB, "RTX 3090"),
        ("NVIDIA GH200 480GB", 132, 96 * GIB, "GH200-96GB"),
        ("AMD Instinct MI300X", 304, 206141652992, "MI300X"),
        ("AMD Instinct MI300X VF", 304, 205571227648, "MI300X"),
        ("AMD Instinct MI325_OAM", 304, 256 * GIB, "MI325X"),
        ("AMD Instinct MI210", 104, 68702699520, "MI210"),
        ("AMD Instinct MI250X / MI250", 104, 64 * GIB, "MI250"),
        ("AMD Instinct MI250X / MI250", 110, 64 * GIB, "MI250X"),
    ],
)
def test_by_name(name, sms, memory, platform):
    assert found(device(name, sms, memory)) == (platform, f"deviceProperties name '{name}'")


def test_by_name_alone():
    assert found(device("AMD Instinct MI300X"))[0] == "MI300X"


@pytest.mark.parametrize(
    ("name", "sms", "memory", "version", "warp", "platform", "how"),
    [
        ("", 304, 206141652992, (9, 4), AMD, "MI300X", "304 CUs and 192 GiB (the GPU has no name)"),
        ("AMD Radeon Graphics", 304, 256 * GIB, (9, 4), AMD, "MI325X", "304 CUs and 256 GiB"),
        ("AMD Radeon Graphics", 110, 65520 << 20, (9, 0), AMD, "MI250X", "110 CUs"),
        ("", 132, 85018279936, (9, 0), NV, "H100-SXM", "132 SMs and 79 GiB"),
        ("AMD Radeon Graphics", 48, 48 * GIB, (11, 0), NV, "Radeon PRO W7900", "48 SMs"),
    ],
)
def test_by_properties_where_the_name_is_generic(name, sms, memory, version, warp, platform, how):
    answer = found(device(name, sms, memory, version, warp))
    assert answer[0] == platform
    assert how in answer[1]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (
            device("AMD Radeon Graphics", 104, 68702699520, (9, 0), AMD),
            "104 CUs and 64 GiB are those of MI210 and MI250",
        ),
        (device("AMD Radeon Graphics", 256, 288 * GIB, (9, 5), AMD), "are those of MI350X and MI355X"),
        (device("", 999, 64 * GIB, (9, 0), AMD), "no known GPU has 999 CUs and 64 GiB"),
        (device(""), "its SMs and memory are not recorded"),
        (device("NVIDIA H100", 132, 80 * GIB, (9, 0), NV), "(its properties are those of H100-SXM)"),
        (device("NVIDIA H800", 132, 80 * GIB, (9, 0), NV), "GPU 'NVIDIA H800' is not a known platform"),
        (device("NVIDIA T400 4GB", 6, 4 * GIB, (7, 5), NV), "is not a known platform"),
        (device("NVIDIA GB300", 160, 288 * GIB, (10, 3), NV), "is not a known platform"),
        (device("NVIDIA H20-3e", 78, 141 * GIB, (9, 0), NV), "has more memory than the known H20"),
        (device("AMD Instinct MI250X / MI250"), "is not a known platform"),
    ],
)
def test_what_is_not_certain_is_not_claimed(entry, reason):
    name, how = found(entry)
    assert name is None
    assert reason in how


def test_hints_serve_where_no_device_has_a_name():
    hint = ["AMD Instinct MI355X"]
    assert found(hints=hint) == ("MI355X", "GPU name 'AMD Instinct MI355X' in the trace's metadata")
    assert found(device("AMD Radeon Graphics", 256, 288 * GIB, (9, 5), AMD), hints=hint)[0] == "MI355X"
    assert found(device("NVIDIA H800"), hints=["NVIDIA H100 PCIe"])[0] is None
    assert found(hints=["MI355X", "MI350X"]) == (
        None,
        "the trace's metadata names MI350X, MI355X",
    )
    assert found(hints=["something else"])[0] is None


def test_no_devices():
    assert found() == (None, "the trace has no deviceProperties")


def test_many_of_a_kind_and_mixed_ones():
    one = device("AMD Instinct MI300X", 304, 206141652992)
    assert found(one, one)[0] == "MI300X"
    name, how = found(one, device("NVIDIA L4", 58, 24 * GIB))
    assert name is None
    assert how == "the trace lists different GPUs (AMD Instinct MI300X, NVIDIA L4)"


def test_a_partition_has_its_share_of_the_peaks():
    platform, how = detect(metadata(device("AMD Instinct MI300X", 38, 48 * GIB, (9, 4), AMD)))
    assert platform is not None
    assert platform.name == "MI300X (38 of 304 CUs)"
    assert platform.roof_tflops("matrix_bf16") == 708 / 8
    assert platform.mem_bw_gbps == 5300 / 4
    assert how.endswith("38 of 304 CUs, so peaks are scaled and bandwidth is scaled to 0.25, its share of the memory")
    whole_memory, how = detect(metadata(device("AMD Instinct MI300X", 38, 192 * GIB, (9, 4), AMD)))
    assert whole_memory is not None
    assert whole_memory.mem_bw_gbps == 5300
    assert "not scaled: it sees all memory" in how


def test_a_mig_slice():
    platform, _ = detect(metadata(device("NVIDIA A100-SXM4-80GB MIG 3g.40gb", 42, 42144366592, (8, 0), NV)))
    assert platform is not None
    assert platform.name == "A100-SXM-80GB (42 of 108 SMs)"
    assert platform.roof_tflops("matrix_bf16") == pytest.approx(271.2 * 42 / 108)


def test_hostile_names_come_out_plain():
    _, how = found(device("\x1b[31mEvil\x07[/b]" + "x" * 500))
    assert "\x1b" not in how
    assert len(how) < 200


@pytest.mark.parametrize(
    ("trace", "platform"),
    [
        ("mi300_qwen", "MI300X"),
        ("h100_bert", "H100-SXM"),
        ("hta_diff_test", "V100-SXM2-16GB"),
        ("hta_nccl", "A100-SXM-40GB"),
        ("mi210_gpu_only", "MI210"),
        ("hta_mi250_toy", None),
    ],
)
def test_real_traces(shared, trace, platform):
    with gzip.open(shared / "traces" / f"{trace}.json.gz") as file:
        entries = json.load(file)["deviceProperties"]
    keys = ("id", "name", "numSms", "totalGlobalMem", "computeMajor", "computeMinor", "warpSize")
    devices = [DeviceProperties(*(entry[key] for key in keys)) for entry in entries]
    assert found(*devices)[0] == platform
