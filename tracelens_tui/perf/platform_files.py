"""Read GPU descriptions: our own (package data) and TraceLens's architecture JSON.

Our schema, one file per GPU in ``perf/data/platforms``: ``schema_version`` 1; ``name``, ``vendor``, ``arch``;
``aliases`` as drivers and traces spell the name; ``sm_count`` (CUs or SMs of the whole device) and ``reported_sms``
(what a trace's ``numSms`` says); ``memory_gb`` as labelled; ``power_w``; ``derating``, a key of
:data:`~tracelens_tui.perf.derating.DERATING`; ``bandwidth_gbps`` (decimal GB/s) with ``nameplate`` and ``measured``;
``peaks`` by compute spec in dense TFLOPS, each with ``datasheet``, ``measured`` and, where a fixed figure is wanted,
``roof``.  Every figure has its source; "unverified" means that it could not be checked.  Grades of measurements: A
random operands, warm, sustained, or a real stream benchmark; A- the same with kinder operands; B a vendor's stress
run or a read-only stream; C constant data, registers only or second hand, which is an upper bound.
"""

import math
import re
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import msgspec

from tracelens_tui.errors import UserError
from tracelens_tui.perf.derating import DERATING, Factor
from tracelens_tui.perf.platform_types import Peak, Platform
from tracelens_tui.text import plain

_MEASURED_GRADES = ("A", "A-", "B")
_SPEC = re.compile(r"(?:matrix|vector)_[a-z0-9]+")
_MAX_FILE = 1 << 20


class _PeakEntry(msgspec.Struct, forbid_unknown_fields=True):
    datasheet: float | None = None
    datasheet_source: str = ""
    measured: float | None = None
    measured_grade: str = ""
    measured_source: str = ""
    roof: float | None = None
    roof_source: str = ""


class _Bandwidth(msgspec.Struct, forbid_unknown_fields=True):
    nameplate: float
    source: str = ""
    measured: float | None = None
    measured_grade: str = ""
    measured_source: str = ""


class _GpuFile(msgspec.Struct, forbid_unknown_fields=True):
    schema_version: int
    name: str
    vendor: str
    arch: str
    sm_count: int
    reported_sms: int
    memory_gb: float
    bandwidth_gbps: _Bandwidth
    peaks: dict[str, _PeakEntry]
    derating: str = ""
    aliases: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sources: dict[str, str] = {}
    power_w: float | None = None
    measured_how: str = ""


class _ArchFile(msgspec.Struct):
    """TraceLens's architecture JSON; further keys (clock, units for a simulator) are left alone."""

    name: str
    mem_bw_gbps: float
    max_achievable_tflops: dict[str, float | None]
    memory_gb: float | None = None


@lru_cache(maxsize=1)
def packaged_platforms() -> tuple[Platform, ...]:
    """Return every GPU that ships with the package, by vendor and name."""
    folder = files("tracelens_tui.perf") / "data" / "platforms"
    found = [_platform(msgspec.json.decode(f.read_bytes(), type=_GpuFile)) for f in folder.iterdir()]
    return tuple(sorted(found, key=lambda platform: (platform.vendor, platform.name)))


def _platform(gpu: _GpuFile) -> Platform:
    factors = DERATING[gpu.derating]
    bandwidth = gpu.bandwidth_gbps
    sources = {**gpu.sources, "mem_bw_gbps": bandwidth.source}
    if bandwidth.measured_source:
        sources["measured_bw_gbps"] = bandwidth.measured_source
    return Platform(
        name=gpu.name,
        vendor=gpu.vendor,
        arch=gpu.arch,
        sm_count=gpu.sm_count,
        memory_gb=gpu.memory_gb,
        mem_bw_gbps=bandwidth.nameplate,
        measured_bw_gbps=bandwidth.measured,
        peaks={spec: _peak(entry, factors.get(spec)) for spec, entry in gpu.peaks.items()},
        aliases=gpu.aliases,
        notes=(*gpu.notes, *([f"Measured: {gpu.measured_how}"] if gpu.measured_how else [])),
        sources=sources,
        reported_sms=gpu.reported_sms,
        measured_bw_grade=bandwidth.measured_grade,
    )


def _peak(entry: _PeakEntry, factor: Factor | None) -> Peak:
    achievable, grade, source = _achievable(entry, factor)
    return Peak(
        datasheet=entry.datasheet,
        achievable=achievable,
        grade=grade,
        source=source,
        measured=entry.measured,
        measured_grade=entry.measured_grade,
        measured_source=entry.measured_source,
        datasheet_source=entry.datasheet_source,
    )


def _achievable(entry: _PeakEntry, factor: Factor | None) -> tuple[float | None, str, str]:
    """Return what the roofline uses, its grade and its source: fixed figure, measured, else derated datasheet."""
    if entry.roof is not None:
        return entry.roof, "reference", entry.roof_source
    if entry.measured is not None and entry.measured_grade in _MEASURED_GRADES:
        return entry.measured, entry.measured_grade, entry.measured_source
    if entry.datasheet is None:
        return None, "", ""
    unverified = entry.datasheet_source == "unverified"
    if factor is None:
        return None, "K" if unverified else "datasheet", entry.datasheet_source
    grade = "K" if unverified else "guess" if factor.guess else "derated"
    return round(entry.datasheet * factor.share, 1), grade, f"{factor.share:g} of the datasheet"


def platform_from_file(path: Path) -> Platform:
    """Return the GPU that an architecture JSON of TraceLens's schema describes.

    Needs ``name``, ``mem_bw_gbps`` (decimal GB/s) and ``max_achievable_tflops`` by compute spec (``matrix_bf16``,
    ``vector_fp32``, ...); ``memory_gb`` and null peaks may be left out.  A UserError names the file and the field.
    """
    arch = _decode_arch(path)
    name = plain(arch.name, 60).strip()
    if not name:
        raise UserError(f"{path}: name is empty; give the GPU a name")
    _check_number(path, "mem_bw_gbps", arch.mem_bw_gbps)
    if arch.memory_gb is not None:
        _check_number(path, "memory_gb", arch.memory_gb)
    peaks = _arch_peaks(path, arch.max_achievable_tflops)
    known = next((platform for platform in packaged_platforms() if platform.name == name), None)
    return Platform(
        name=name,
        vendor=known.vendor if known else "",
        arch=known.arch if known else "",
        sm_count=known.sm_count if known else None,
        memory_gb=arch.memory_gb,
        mem_bw_gbps=arch.mem_bw_gbps,
        measured_bw_gbps=None,
        peaks=peaks,
        notes=(f"Peaks and bandwidth from {path.name}",),
        sources={"mem_bw_gbps": path.name},
    )


def _decode_arch(path: Path) -> _ArchFile:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_FILE + 1)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); give an architecture JSON file") from error
    if len(data) > _MAX_FILE:
        raise UserError(f"{path}: is larger than 1 MiB; an architecture file is a few hundred bytes of JSON")
    try:
        return msgspec.json.decode(data, type=_ArchFile)
    except msgspec.ValidationError as error:
        raise UserError(f"{path}: {_in_words(error)}; see docs/formulas.md for the fields") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{path}: is not JSON ({error}); give an architecture JSON file") from error


def _in_words(error: msgspec.ValidationError) -> str:
    """Turn msgspec's "Expected `float`, got `str` - at `$.mem_bw_gbps`" into field first."""
    text, _, place = str(error).replace("`", "").partition(" - at ")
    field = place.removeprefix("$.").strip()
    return f"{field}: {text}" if field and field != "$" else text


def _arch_peaks(path: Path, tflops: dict[str, float | None]) -> dict[str, Peak]:
    peaks: dict[str, Peak] = {}
    for spec, value in tflops.items():
        if not _SPEC.fullmatch(spec):
            raise UserError(
                f"{path}: max_achievable_tflops.{plain(spec, 60)} is no compute spec; write matrix_bf16 or the like"
            )
        if value is None:
            continue
        _check_number(path, f"max_achievable_tflops.{spec}", value)
        peaks[spec] = Peak(datasheet=None, achievable=value, grade="file", source=path.name)
    if not peaks:
        raise UserError(f"{path}: max_achievable_tflops has no peak; give at least one, such as matrix_bf16")
    if "matrix_fp32" in peaks:  # the schema has no TF32 key: its fp32 figure is what an fp32 GEMM reaches by default
        peaks.setdefault("matrix_tf32", peaks["matrix_fp32"])
    return peaks


def _check_number(path: Path, field: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise UserError(f"{path}: {field} is {value}; it must be a number above 0")
