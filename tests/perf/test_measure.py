"""``platforms measure`` against a pretended PyTorch whose GPU takes a known time per call."""

import json
import sys
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from tracelens_tui.cli import main
from tracelens_tui.errors import UserError
from tracelens_tui.perf.measure import Measured, arch_file
from tracelens_tui.perf.platform_files import platform_from_file
from tracelens_tui.perf.platforms import load_platform

TFLOPS = {"fp16": 800.0, "bf16": 700.0, "fp32": 50.0, "tf32": 400.0, "fp64": 60.0, "fp8": 1400.0}
COPY_GBPS = 3000.0


@dataclass
class Gpu:
    """Counts the milliseconds that its calls take."""

    name: str
    hip: bool = False
    now_ms: float = 0.0
    absent: frozenset[str] = frozenset()
    matmul: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(allow_tf32=False))

    def gemm(self, dtype: str, m: int, n: int, k: int) -> None:
        if dtype in self.absent:
            raise RuntimeError(f"no {dtype} here\nwith a long trace")
        rate = TFLOPS["tf32" if dtype == "fp32" and self.matmul.allow_tf32 else dtype]
        self.now_ms += 2 * m * n * k / rate / 1e9


@dataclass
class Tensor:
    gpu: Gpu
    shape: tuple[int, ...]
    dtype: str

    def t(self) -> "Tensor":
        return Tensor(self.gpu, self.shape[::-1], self.dtype)

    def to(self, dtype: str) -> "Tensor":
        return Tensor(self.gpu, self.shape, dtype)

    def copy_(self, source: "Tensor") -> None:
        self.gpu.now_ms += 2 * source.shape[0] / COPY_GBPS / 1e6


class Event:
    def __init__(self, gpu: Gpu) -> None:
        self.gpu, self.at = gpu, 0.0

    def record(self) -> None:
        self.at = self.gpu.now_ms

    def elapsed_time(self, end: "Event") -> float:
        return end.at - self.at


def torch_on(gpu: Gpu) -> SimpleNamespace:
    def multiply(a: Tensor, b: Tensor, **_: object) -> None:
        assert a.shape[1] == b.shape[0]
        gpu.gemm(a.dtype, a.shape[0], b.shape[1], a.shape[1])

    module = SimpleNamespace()
    properties = SimpleNamespace(total_memory=80 << 30, gcnArchName="gfx942" if gpu.hip else "")
    module.cuda = SimpleNamespace(
        is_available=lambda: True,
        get_device_name=lambda _: gpu.name,
        get_device_properties=lambda _: properties,
        mem_get_info=lambda: (4 << 30, 80 << 30),
        empty_cache=lambda: None,
        synchronize=lambda: None,
        Event=lambda **_: Event(gpu),
    )
    module.version = SimpleNamespace(hip="6.4" if gpu.hip else None)
    module.backends = SimpleNamespace(cuda=SimpleNamespace(matmul=gpu.matmul))
    for name, dtype in (("float16", "fp16"), ("bfloat16", "bf16"), ("float32", "fp32"), ("float64", "fp64")):
        setattr(module, name, dtype)
    module.float8_e4m3fnuz = module.float8_e4m3fn = "fp8"
    module.int8 = module.uint8 = "int8"
    module.randn = lambda *size, device, dtype="fp32": Tensor(gpu, size, dtype)
    module.randint = lambda _low, _high, size, *, device, dtype: Tensor(gpu, size, dtype)
    module.empty_like = lambda tensor: tensor
    module.ones = lambda *_, device: None
    module.mm = module._scaled_mm = multiply
    return module  # without _int_mm: an old PyTorch


def test_the_file_has_what_the_gpu_reaches_and_the_nameplate_bandwidth(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "torch", torch_on(Gpu("NVIDIA H100 80GB HBM3")))
    file = tmp_path / "mine.json"
    assert main(["platforms", "measure", str(file)]) == 0
    found = json.loads(file.read_text())
    measured = {
        "matrix_fp16": 800.0, "matrix_bf16": 700.0, "matrix_tf32": 400.0, "vector_fp32": 50.0, "matrix_fp64": 60.0,
        "matrix_fp8": 1400.0,
    }  # fmt: skip
    packaged = {spec: peak.roof for spec, peak in load_platform("H100-SXM").peaks.items()}
    assert found["max_achievable_tflops"] == packaged | measured
    assert found["measured_how"]["vector_bf16"] == "not measured: the packaged figure"
    assert (found["mem_bw_gbps"], found["mem_bw_source"], found["measured_copy_gbps"]) == (3350.0, "nameplate", 3000.0)
    assert found["measured_how"]["matrix_int8"] == "not measured: the packaged figure"
    assert f"--arch {file}" in capsys.readouterr().out
    platform = platform_from_file(file)
    assert (platform.roof_tflops("matrix_bf16"), platform.memory_gb) == (700.0, 80.0)


def test_amd_multiplies_fp32_on_the_matrix_units_and_has_no_tf32(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", torch_on(Gpu("Unheard Of 9000", hip=True, absent=frozenset({"fp64"}))))
    file = tmp_path / "mine.json"
    assert main(["platforms", "measure", str(file)]) == 0
    found = json.loads(file.read_text())
    peaks = found["max_achievable_tflops"]
    assert (peaks["matrix_fp32"], peaks["matrix_fp64"]) == (50.0, None)
    assert "matrix_tf32" not in peaks
    assert found["measured_how"]["matrix_fp64"] == "no fp64 here"
    assert "_int_mm" in found["measured_how"]["matrix_int8"]
    assert (found["name"], found["mem_bw_gbps"], found["mem_bw_source"]) == ("Unheard Of 9000", 3000.0, "measured copy")


@pytest.mark.parametrize("hidden", ["torch", "gpu"])
def test_without_pytorch_or_a_gpu_one_sentence_says_so(hidden, monkeypatch, tmp_path, capsys):
    module = torch_on(Gpu("x"))
    module.cuda.is_available = lambda: False
    monkeypatch.setitem(sys.modules, "torch", None if hidden == "torch" else module)
    assert main(["platforms", "measure", str(tmp_path / "mine.json")]) == 2
    said = capsys.readouterr().err
    assert "needs PyTorch and a GPU" in said
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_nothing_measured_writes_no_file():
    with pytest.raises(UserError, match=r"too little could be measured.*no kernel image"):
        arch_file("x", 80, [Measured("matrix_bf16", None, why="no kernel image"), Measured("copy", 1.0)])
