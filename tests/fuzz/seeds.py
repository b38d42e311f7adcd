"""Small hand-made traces for the mutator: the layouts, dialects and packings that profilers and their users leave."""

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from decimal import Decimal

from tests.ingest.making import Event, event, head, sample, text

Pack = Callable[[bytes], bytes]


def _collectives() -> list[Event]:
    """Two GPUs, a collective with its description, copies and sets, a graph launch that owns several kernels."""
    group = {
        "Collective name": "allreduce", "dtype": "BFloat16", "Process Group Name": "0", "Group size": 8,
        "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]", "In msg nelems": 4096, "Out msg nelems": 4096,
        "In split size": "[]", "Out split size": "[]", "Comms Id": 18446744073709551617,
    }  # fmt: skip
    events = [
        event("user_annotation", "ProfilerStep#7", "100", "400", 9, 9),
        event("cpu_op", "record_param_comms", "110", "20", 9, 9, **group),
        event("cuda_runtime", "cudaLaunchKernelExC", "112", "3", 9, 9, correlation=1),
        event("kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgs)", "120", "60", 0, 20,
              device=0, stream=20, correlation=1),
        event("cuda_runtime", "cudaGraphLaunch", "140", "5", 9, 9, correlation=2),
        event("cuda_runtime", "cudaMemcpyAsync", "150", "2", 9, 9, correlation=3),
        event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", "152", "9", 0, 7, device=0, stream=7, correlation=3,
              bytes=4096),
        event("gpu_memset", "Memset (Device)", "170", "1", 1, 7, device=1, stream=7, correlation=4, bytes=16),
        event("gpu_user_annotation", "ProfilerStep#7", "110", "300", 0, 7),
        event("overhead", "Activity Buffer Request", "90", "3", -1, 0),
        event("cuda_sync", "Stream Sync", "250", "40", 0, 7, stream=7),
    ]  # fmt: skip
    for turn in range(3):
        place = {"device": 0, "stream": 7, "correlation": 2}
        events.append(event("kernel", f"graph_kernel_{turn}", f"{180 + 20 * turn}", "10", 0, 7, **place))
    return events


def _rocm() -> list[Event]:
    """Text as numbers, no flow start, correlations that mean none, an unnamed kernel, impossible times."""
    return [
        {"ph": "X", "cat": "Operator", "name": "aten::mm", "pid": "7", "tid": "7", "ts": "1.7e15", "dur": "80",
         "args": {"External id": "3", "Input Dims": [[64, 32], [32, 16]], "Input type": ["c10::Half", "c10::Half"]}},
        event("hip_runtime", "hipExtModuleLaunchKernel", "1700000000000010", "4", 7, 7, correlation="12"),
        event("kernel", "Cijk_Ailk_Bljk_HHS_BH_MT64x64x32", "1700000000000020.125", "30.5", 2, 0, device=2, stream=0,
              correlation=12),
        event("kernel", "", "1700000000000060", "-3", 2, 0, correlation=-1),
        event("kernel", "fill_kernel", "1700000000000070", "9999999", 2, 0, correlation=0),
        event("kernel", "relu_kernel", "1700000000000080", "5", 2, 0, correlation=0),
        {"ph": "f", "id": 12, "pid": 2, "tid": 0, "ts": 1_700_000_000_000_070, "cat": "ac2g", "name": "ac2g",
         "bp": "e"},
        {"ph": "X", "cat": "cpu_op", "name": "aten::empty", "pid": 7, "tid": 7, "ts": 1_700_000_000_000_100},
        {},
    ]  # fmt: skip


def _ranks() -> list[Event]:
    """Two processes merged into one file: the same correlations twice."""
    events = []
    for rank in (0, 1):
        pid, start = 1000 + rank, 1000 * rank
        for turn in range(3):
            at, link = start + 100 * turn, 50 + turn
            events += [
                event("cpu_op", "aten::add", f"{at}", "50", pid, pid, **{"External id": link,
                      "Input Dims": [[128, 256], [128, 256], []], "Input type": ["float", "float", "Scalar"],
                      "Concrete Inputs": ["", "", "1"], "Input Strides": [[256, 1], [256, 1], []]}),
                event("cuda_driver", "cuLaunchKernel", f"{at + 5}", "3", pid, pid, correlation=link),
                event("kernel", "triton_poi_fused_add_0", f"{at + 20}", "15.5", rank, 7, device=rank, stream=7,
                      correlation=link, grid=[64, 1, 1], block=[128, 1, 1]),
            ]  # fmt: skip
    return events


def _python(depth: int = 12) -> list[Event]:
    """Nested Python frames with Windows paths and quotes around one op."""
    frames = [
        event("python_function", f'C:\\train\\new "x" {level}.py(3): run', f"{level}", f"{200 - 2 * level}", 5, 5)
        for level in range(depth)
    ]
    op = [
        event("cpu_op", "aten::relu", "50", "20", 5, 5, **{"External id": 1, "Input Dims": [[8, 8]]}),
        event("cuda_runtime", "cudaLaunchKernel", "55", "5", 5, 5, correlation=1),
        event("kernel", "relu<float, 4>", "60.5", "10.25", 0, 7, device=0, stream=7, correlation=1),
    ]
    return [*frames, *op]


def _jax() -> list[Event]:
    return [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/device:GPU:0"}},
        {"ph": "X", "name": "fusion.1", "pid": 1, "tid": 1, "ts": Decimal("1.5"), "dur": 1, "args": {"hlo_op": "f"}},
        {},
    ]


def _document(events: list[Event]) -> bytes:
    return text({**head(), "traceEvents": events})


def _spread(events: list[Event]) -> bytes:
    value = json.loads(_document(events))
    return json.dumps(value, indent=2).replace("\n", "\r\n").encode()


def _lines(events: list[Event]) -> bytes:
    return b"\n".join(map(text, events)) + b"\n"


def _array(events: list[Event]) -> bytes:
    return b"[" + b",\n".join(map(text, events)) + b",\n{}"


def _broken(events: list[Event]) -> bytes:
    """Faults that the reader mends: lone backslashes, bare quotes, nan, missing values, a comma too many."""
    given = _document(events).replace(b"\\\\", b"\\").replace(b'\\"', b'"')
    return given.replace(b'"with_stack":1', b'"with_stack":nan,').replace(b'"device":0', b'"device":0,"occ":', 1)


LAYOUTS: tuple[Callable[[list[Event]], bytes], ...] = (_document, _spread, _lines, _array, _broken)
DIALECTS: tuple[Callable[[], list[Event]], ...] = (lambda: sample(2), _collectives, _rocm, _ranks, _python, _jax)


def seeds() -> list[bytes]:
    """Return the traces, unpacked: every dialect in every layout, two in other encodings."""
    made = [layout(dialect()) for dialect in DIALECTS for layout in LAYOUTS]
    plain = _document(_collectives()).decode()
    return [*made, b"\xef\xbb\xbf" + made[0], plain.encode("utf-16"), plain.encode("utf-16-be")]


def _members(data: bytes) -> bytes:
    half = len(data) // 2
    return gzip.compress(data[:half], 1, mtime=0) + gzip.compress(data[half:], 1, mtime=0) + b"stray"


def _zip(data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("__MACOSX/._rank0.json"), b"\0\5\x16\7", zipfile.ZIP_DEFLATED)
        archive.writestr(zipfile.ZipInfo("run/rank0.json"), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _tar(data: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo("run/rank0.json")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def _packed_tar(data: bytes) -> bytes:
    return gzip.compress(_tar(data), 1, mtime=0)


PACKINGS: tuple[Pack, ...] = (
    bytes, lambda data: gzip.compress(data, 1, mtime=0), _members, _zip, lzma.compress, bz2.compress, _tar, _packed_tar,
)  # fmt: skip
