import json
from pathlib import Path

import pytest

from tracelens_tui.errors import UserError
from tracelens_tui.perf.derating import DERATING
from tracelens_tui.perf.platforms import all_platforms, load_platform, platform_from_file

# What the usual architecture files of these two GPUs carry (TFLOPS); reports must agree with them.
REFERENCE = {
    "MI300X": (5300, 192, 654, 708, 163, 81, 1273, 2600, 163, 163, 81, 40),
    "MI325X": (6000, 256, 794, 843, 194, 97, 1519, 3094, 194, 194, 97, 48),
}
KEYS = (
    "matrix_fp16", "matrix_bf16", "matrix_fp32", "matrix_fp64", "matrix_fp8", "matrix_int8",
    "vector_fp16", "vector_bf16", "vector_fp32", "vector_fp64",
)  # fmt: skip


@pytest.mark.parametrize("name", sorted(REFERENCE))
def test_mi300x_and_mi325x_are_the_usual_peaks(name):
    bandwidth, memory, *peaks = REFERENCE[name]
    platform = load_platform(name)
    assert (platform.mem_bw_gbps, platform.memory_gb) == (bandwidth, memory)
    assert [platform.roof_tflops(key) for key in KEYS] == peaks


@pytest.mark.parametrize(
    ("name", "spec", "datasheet", "roof", "grade"),
    [
        ("H100-SXM", "matrix_bf16", 989.4, 794.5, "A"),
        ("H100-SXM", "matrix_fp16", 989.4, 791.5, "derated"),  # 0.80
        ("H100-PCIe", "matrix_bf16", 756.0, 604.8, "derated"),
        ("H100-NVL", "matrix_fp8", 1670.5, 1236.2, "derated"),  # 0.74
        ("H200", "matrix_fp8", 1978.9, 1453.4, "A"),
        ("A100-SXM-40GB", "matrix_bf16", 312.0, 271.2, "A"),
        ("A100-SXM-80GB", "matrix_tf32", 156.0, 124.8, "guess"),
        ("B200", "matrix_bf16", 2250.0, 1745.0, "A"),
        ("MI355X", "matrix_bf16", 2516.6, 1639.8, "B"),
        ("MI350X", "matrix_bf16", 2309.6, 1432.0, "derated"),  # 0.62
        ("MI250X", "matrix_bf16", 191.5, 172.3, "derated"),  # 0.90, per GCD
        ("MI210", "matrix_bf16", 181.0, 162.9, "derated"),  # its measurement is an upper bound
        ("MI300A", "matrix_bf16", 980.6, 529.5, "derated"),  # 0.54
        ("T4", "matrix_fp16", 65.0, 39.0, "guess"),
        ("A30", "matrix_bf16", 165.0, 132.0, "K"),
        ("RTX 4090", "matrix_bf16", 165.2, 165.2, "datasheet"),
        ("MI300X", "matrix_bf16", 1307.4, 708.0, "reference"),
    ],
)
def test_peaks(name, spec, datasheet, roof, grade):
    peak = load_platform(name).peaks[spec]
    assert (peak.datasheet, peak.roof, peak.grade) == (datasheet, roof, grade)


def test_upper_bounds_are_kept_beside_the_roof():
    peak = load_platform("MI210").peaks["matrix_bf16"]
    assert (peak.measured, peak.measured_grade) == (170.9, "C")


@pytest.mark.parametrize(
    ("name", "spec"), [("MI355X", "matrix_tf32"), ("V100-SXM2-16GB", "matrix_bf16"), ("H100-SXM", "matrix_fp32")]
)
def test_no_peak_where_the_hardware_has_none(name, spec):
    assert load_platform(name).roof_tflops(spec) is None


def test_every_platform_is_sound():
    names = [platform.name for platform in all_platforms()]
    assert len(names) == len(set(names)) == 44
    for platform in all_platforms():
        assert platform.mem_bw_gbps > 100, platform.name
        assert platform.measured_bw_gbps is None or platform.measured_bw_gbps < platform.mem_bw_gbps, platform.name
        assert platform.aliases, platform.name
        assert platform.sources["mem_bw_gbps"], platform.name
        for spec, peak in platform.peaks.items():
            assert peak.roof, (platform.name, spec)
            assert peak.grade, (platform.name, spec)
            assert peak.source, (platform.name, spec)
            assert peak.datasheet is None or peak.datasheet_source, (platform.name, spec)
            assert peak.measured is None or (peak.measured_grade and peak.measured_source), (platform.name, spec)
            assert peak.datasheet is None or peak.achievable is None or peak.achievable <= peak.datasheet * 1.2


def test_no_derating_raises_a_peak():
    assert all(0 < factor.share <= 1 for factors in DERATING.values() for factor in factors.values())


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("mi300x", "MI300X"),
        ("H100 SXM", "H100-SXM"),
        ("h100_nvl", "H100-NVL"),
        ("NVIDIA H100 80GB HBM3", "H100-SXM"),
        ("AMD Instinct MI300X VF", "MI300X"),
        ("rtx3090", "RTX 3090"),
        ("H200", "H200"),
    ],
)
def test_a_name_in_any_spelling(asked, name):
    assert load_platform(asked).name == name


def test_an_unknown_name_lists_the_known_and_suggests():
    with pytest.raises(
        UserError, match=r"platform 'MI300Z' is not known; did you mean MI300[AX]\? known are MI100.*H100"
    ):
        load_platform("MI300Z")
    with pytest.raises(UserError, match="platform '' is not known"):
        load_platform("")


def test_a_name_of_several_boards_asks_which():
    with pytest.raises(UserError, match="platform 'H100' is ambiguous; say which: H100-NVL, H100-PCIe, H100-SXM"):
        load_platform("H100")


def _write(folder: Path, **changes: object) -> Path:
    arch: dict[str, object] = {
        "name": "Mine",
        "mem_bw_gbps": 3350,
        "memory_gb": 80,
        "freq_mhz": 1800,
        "max_achievable_tflops": {"matrix_bf16": 800, "matrix_fp32": 450, "matrix_fp4": None},
    }
    arch.update(changes)
    path = folder / "arch.json"
    path.write_text(json.dumps({k: v for k, v in arch.items() if v is not ...}))
    return path


def test_a_platform_from_a_file(tmp_path):
    platform = platform_from_file(_write(tmp_path))
    assert (platform.name, platform.mem_bw_gbps, platform.memory_gb, platform.vendor) == ("Mine", 3350.0, 80.0, "")
    assert platform.roof_tflops("matrix_bf16") == 800
    assert platform.roof_tflops("matrix_tf32") == 450  # the schema's fp32 figure is what an fp32 GEMM reaches
    assert platform.roof_tflops("matrix_fp4") is None
    assert platform.peaks["matrix_bf16"].source == "arch.json"


def test_a_known_name_in_a_file_brings_its_vendor(tmp_path):
    platform = platform_from_file(_write(tmp_path, name="MI300X"))
    assert (platform.vendor, platform.arch, platform.roof_tflops("matrix_bf16")) == ("AMD", "gfx942", 800)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": ...}, "missing required field name"),
        ({"name": " "}, "name is empty"),
        ({"max_achievable_tflops": {"\x1b[31mred": 1}}, r"max_achievable_tflops\.red is no compute spec"),
        ({"mem_bw_gbps": ...}, "missing required field mem_bw_gbps"),
        ({"mem_bw_gbps": "5 TB/s"}, "mem_bw_gbps: Expected float, got str"),
        ({"mem_bw_gbps": -1}, r"mem_bw_gbps is -1\.0; it must be a number above 0"),
        ({"memory_gb": 0}, "memory_gb is 0"),
        ({"max_achievable_tflops": []}, "max_achievable_tflops: Expected object, got array"),
        ({"max_achievable_tflops": {}}, "max_achievable_tflops has no peak"),
        ({"max_achievable_tflops": {"bf16": 1}}, r"max_achievable_tflops\.bf16 is no compute spec"),
        ({"max_achievable_tflops": {"matrix_bf16": 0}}, r"max_achievable_tflops\.matrix_bf16 is 0"),
        ({"max_achievable_tflops": {"matrix_bf16": "x"}}, r"max_achievable_tflops.*Expected float"),
    ],
)
def test_a_bad_file_names_the_field(tmp_path, changes, message):
    with pytest.raises(UserError, match=message) as caught:
        platform_from_file(_write(tmp_path, **changes))
    assert "arch.json" in str(caught.value)


def test_files_that_are_no_json(tmp_path):
    path = tmp_path / "arch.json"
    for content in (b"", b"{", b"\xff\xfe", b"[" * 5000, b"[]"):
        path.write_bytes(content)
        with pytest.raises(UserError, match=r"arch\.json"):
            platform_from_file(path)
    path.write_bytes(b" " * (1 << 20) + b"{}")
    with pytest.raises(UserError, match="larger than 1 MiB"):
        platform_from_file(path)
    with pytest.raises(UserError, match="cannot be read"):
        platform_from_file(tmp_path / "absent.json")
    with pytest.raises(UserError, match="cannot be read"):
        platform_from_file(tmp_path)


def test_the_reference_architecture_files(shared):
    mi300x = platform_from_file(shared / "oracle" / "arch_mi300x_reference.json")
    ours = load_platform("MI300X")
    assert {key: mi300x.roof_tflops(key) for key in KEYS} == {key: ours.roof_tflops(key) for key in KEYS}
    h100 = platform_from_file(shared / "oracle" / "arch_h100_reference.json")
    assert (h100.mem_bw_gbps, h100.roof_tflops("matrix_fp8")) == (3350, 1500)
