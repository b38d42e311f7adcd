"""Which GPU a trace was taken on, from what the file says about its devices.

Order: the device's name (longest known spelling on word boundaries), GPU names found elsewhere in the file, and only
where the name is missing or generic ("AMD Radeon Graphics") the number of SMs or CUs, memory, compute version and
warp size together.  A name that is unknown is never resolved by its properties: cards that look alike differ in peaks.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tracelens_tui.perf.platform_files import packaged_platforms
from tracelens_tui.perf.platform_types import Platform
from tracelens_tui.text import plain
from tracelens_tui.trace.types import DeviceProperties, TraceMetadata

_GENERIC = {"", "amd radeon graphics", "radeon graphics", "amd instinct", "nvidia graphics device", "graphics device",
            "gpu", "unknown", "device", "none"}  # fmt: skip
_PREFIXES = re.compile(r"^(?:nvidia|amd|tesla)\s+")
_CUT_PARTS = re.compile(r"[\s_\-/]+")
_GIB = 1 << 30
_MEMORY_TOLERANCE = 0.10  # ECC and reserves hide up to 8 % of the labelled memory
_WHOLE = 0.9  # fewer SMs than this share of the device: a partition of it
_CDNA_WARP = 64
_AMD_GENERATIONS = {
    (9, 0): ("gfx908", "gfx90a"),
    (9, 4): ("gfx942",),
    (9, 5): ("gfx950",),
    (11, 0): ("gfx1100",),
    (12, 0): ("gfx1201",),
}
"""Compute version as a trace has it -> architectures."""


def with_own(platforms: Sequence[Platform], own: Sequence[Platform]) -> tuple[Platform, ...]:
    """Return the platforms with a user's own, which replace those of the same name."""
    replaced = {platform.name for platform in own}
    return (*own, *(platform for platform in platforms if platform.name not in replaced))


def detect(metadata: TraceMetadata, more: Sequence[Platform] = ()) -> tuple[Platform | None, str]:
    """Return the platform of the trace and a phrase on how it was found, or None and why not.

    Several kinds of GPU in one file, or properties that fit several GPUs, give None: nothing is guessed.  ``more`` are
    platforms besides those that ship with the package.
    """
    known = with_own(packaged_platforms(), more)
    if not metadata.devices:
        return _from_hints(metadata.gpu_name_hints, "the trace has no deviceProperties", known)
    answers = [_of_device(device, known) for device in metadata.devices]
    names = {platform.name if platform else None for platform, _ in answers}
    if len(names) > 1:
        listed = ", ".join(sorted({_shown(device) for device in metadata.devices}))
        return None, f"the trace lists different GPUs ({listed})"
    platform, how = answers[0]
    if platform is None and all(_is_generic(device.name) for device in metadata.devices):
        by_hint, hint = _from_hints(metadata.gpu_name_hints, how, known)
        return (by_hint, hint) if by_hint else (None, how)
    return platform, how


def _from_hints(hints: Iterable[str], otherwise: str, platforms: Sequence[Platform]) -> tuple[Platform | None, str]:
    found = {hint: _by_name(hint, platforms) for hint in hints}
    known = {name: candidates for name, candidates in found.items() if candidates}
    distinct = {candidate.name for candidates in known.values() for candidate in candidates}
    if len(distinct) == 1:
        hint, candidates = next(iter(known.items()))
        return candidates[0], f"GPU name '{plain(hint, 60)}' in the trace's metadata"
    if distinct:
        return None, f"the trace's metadata names {', '.join(sorted(distinct))}"
    return None, otherwise


def _of_device(device: DeviceProperties, platforms: Sequence[Platform]) -> tuple[Platform | None, str]:
    if _is_generic(device.name):
        return _by_properties(device, platforms)
    candidates = _by_name(device.name, platforms)
    if len(candidates) > 1:
        candidates = [c for c in candidates if device.sm_count in {c.sm_count, c.reported_sms}]
    shown = plain(device.name, 60)
    if len(candidates) != 1:
        return None, _why_not_by_name(shown, device, platforms)
    platform = candidates[0]
    if _has_more_memory(platform, device):
        return None, f"GPU '{shown}' has more memory than the known {platform.name}"
    return _as_reported(platform, device, f"deviceProperties name '{shown}'")


def _why_not_by_name(shown: str, device: DeviceProperties, platforms: Sequence[Platform]) -> str:
    alike = [p.name for p in _matching(device, platforms)]
    hint = f" (its properties are those of {' or '.join(alike)})" if alike else ""
    return f"GPU '{shown}' is not a known platform{hint}"


def _by_name(name: str, platforms: Sequence[Platform]) -> list[Platform]:
    """Return the platforms with the longest spelling that occurs in ``name`` on word boundaries."""
    words = _words(name)
    best: list[Platform] = []
    longest = 0
    for platform in platforms:
        size = max((len(w) for w in map(_words, (*platform.aliases, platform.name)) if _contains(words, w)), default=0)
        if size > longest:
            best, longest = [platform], size
        elif size == longest and size:
            best.append(platform)
    return best


def _words(name: str) -> tuple[str, ...]:
    return tuple(_CUT_PARTS.split(_PREFIXES.sub("", name.strip().lower())))


def _contains(words: tuple[str, ...], part: tuple[str, ...]) -> bool:
    return any(words[i : i + len(part)] == part for i in range(len(words) - len(part) + 1))


def _by_properties(device: DeviceProperties, platforms: Sequence[Platform]) -> tuple[Platform | None, str]:
    what = _properties(device)
    unnamed = (
        f"the GPU's name is generic ('{plain(device.name, 40)}')" if device.name.strip() else "the GPU has no name"
    )
    if device.sm_count is None or device.memory_bytes is None:
        return None, f"{unnamed} and its SMs and memory are not recorded"
    fitting = _matching(device, platforms)
    if len(fitting) == 1:
        return fitting[0], f"{what} ({unnamed})"
    if fitting:
        return None, f"{unnamed} and {what} are those of {' and '.join(p.name for p in fitting)}"
    return None, f"{unnamed} and no known GPU has {what}"


def _matching(device: DeviceProperties, platforms: Sequence[Platform]) -> list[Platform]:
    """Return the platforms whose SMs, memory (within 10 %), compute version and warp size are the device's."""
    if device.sm_count is None or device.memory_bytes is None:
        return []
    gib = device.memory_bytes / _GIB
    return [
        p
        for p in platforms
        if device.sm_count == p.reported_sms
        and p.memory_gb is not None
        and abs(gib / p.memory_gb - 1) <= _MEMORY_TOLERANCE
        and _arch_fits(p, device)
    ]


def _arch_fits(platform: Platform, device: DeviceProperties) -> bool:
    if device.warp_size is not None and (device.warp_size == _CDNA_WARP) != platform.arch.startswith("gfx9"):
        return False
    if device.compute_major is None:
        return True
    version = (device.compute_major, device.compute_minor or 0)
    if platform.vendor == "AMD":
        return platform.arch in _AMD_GENERATIONS.get(version, ())
    return platform.arch == f"sm_{version[0]}{version[1]}"


def _as_reported(platform: Platform, device: DeviceProperties, how: str) -> tuple[Platform, str]:
    """Scale the peaks to the SMs that this device has, where it is a partition (CPX, MIG) of the whole."""
    if not device.sm_count or not platform.reported_sms or device.sm_count >= _WHOLE * platform.reported_sms:
        return platform, how
    share = device.sm_count / platform.reported_sms
    memory = _memory_share(platform, device)
    part = f"{device.sm_count} of {platform.reported_sms} {_unit(platform)}"
    bandwidth = f"scaled to {memory:.2f}, its share of the memory" if memory < 1 else "not scaled: it sees all memory"
    note = f"A partition: peaks scaled to {part}; bandwidth {bandwidth}."
    peaks = {
        spec: replace(peak, datasheet=_times(peak.datasheet, share), achievable=_times(peak.achievable, share),
                      measured=None, measured_grade="", measured_source="")
        for spec, peak in platform.peaks.items()
    }  # fmt: skip
    scaled = replace(
        platform,
        name=f"{platform.name} ({part})",
        sm_count=device.sm_count,
        reported_sms=device.sm_count,
        mem_bw_gbps=platform.mem_bw_gbps * memory,
        measured_bw_gbps=None,
        peaks=peaks,
        notes=(note, *platform.notes),
    )
    return scaled, f"{how}; {part}, so peaks are scaled and bandwidth is {bandwidth}"


def _memory_share(platform: Platform, device: DeviceProperties) -> float:
    if device.memory_bytes is None or platform.memory_gb is None:
        return 1.0
    share = device.memory_bytes / _GIB / platform.memory_gb
    return share if share < 1 - _MEMORY_TOLERANCE else 1.0


def _has_more_memory(platform: Platform, device: DeviceProperties) -> bool:
    """Return whether this is another board of the same name: one with more memory than the known one."""
    if device.memory_bytes is None or platform.memory_gb is None:
        return False
    return device.memory_bytes / _GIB > platform.memory_gb * (1 + _MEMORY_TOLERANCE)


def _times(value: float | None, share: float) -> float | None:
    return None if value is None else value * share


def _is_generic(name: str) -> bool:
    return name.strip().lower() in _GENERIC


def _unit(platform: Platform) -> str:
    return "CUs" if platform.vendor == "AMD" else "SMs"


def _properties(device: DeviceProperties) -> str:
    unit = "CUs" if device.warp_size == _CDNA_WARP else "SMs"
    memory = "" if device.memory_bytes is None else f" and {device.memory_bytes / _GIB:.0f} GiB"
    return f"{device.sm_count} {unit}{memory}"


def _shown(device: DeviceProperties) -> str:
    return plain(device.name, 60).strip() or "unnamed"
