"""GPU platforms: names, peaks and bandwidths, and how a trace's GPU is recognised."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Peak:
    """One peak rate in TFLOPS (TOPS for integers): what the datasheet says and what was measured."""

    datasheet: float | None
    achievable: float | None  # measured, or the derated datasheet figure
    grade: str = ""  # A..C of the measurement, "derated", "K" = unverified
    source: str = ""

    @property
    def roof(self) -> float | None:
        """The rate a roofline uses: achievable, else datasheet."""
        return self.achievable if self.achievable is not None else self.datasheet


@dataclass(frozen=True, slots=True)
class Platform:
    """One GPU as the roofline sees it.  ``peaks`` is keyed by compute spec: matrix_bf16, vector_fp32, ..."""

    name: str  # short name as shown: "MI300X"
    vendor: str  # "AMD" | "NVIDIA"
    arch: str  # "gfx942", "sm_90"
    sm_count: int | None
    memory_gb: float | None
    mem_bw_gbps: float  # nameplate, decimal GB/s: the memory roof
    measured_bw_gbps: float | None
    peaks: Mapping[str, Peak]
    aliases: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)

    def roof_tflops(self, spec: str) -> float | None:
        """Return the compute roof for a spec, None where the platform has no such peak."""
        peak = self.peaks.get(spec)
        return None if peak is None else peak.roof
