"""What a GPU can do: its peak rates and bandwidth, as the roofline reads them."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Peak:
    """One peak rate in TFLOPS (TOPS for integers): what the datasheet says and what was measured."""

    datasheet: float | None  # dense, as printed
    achievable: float | None  # what the roofline uses: measured, or the derated datasheet figure
    grade: str = ""  # of ``achievable``: A, A-, B measured; "reference", "derated", "guess", "K" = unverified
    source: str = ""  # of ``achievable``
    measured: float | None = None  # best published measurement, whatever its grade
    measured_grade: str = ""  # C = an upper bound, never used as the roof
    measured_source: str = ""
    datasheet_source: str = ""  # "unverified" where it could not be checked

    @property
    def roof(self) -> float | None:
        """The rate a roofline uses: achievable, else datasheet."""
        return self.achievable if self.achievable is not None else self.datasheet


@dataclass(frozen=True, slots=True)
class Platform:
    """One GPU as the roofline sees it.  ``peaks`` is keyed by compute spec: matrix_bf16, vector_fp32, ..."""

    name: str  # short name as shown: "MI300X"
    vendor: str  # "AMD" | "NVIDIA" | "" = unknown (architecture file)
    arch: str  # "gfx942", "sm_90"
    sm_count: int | None  # compute units or SMs of the whole device
    memory_gb: float | None  # as the vendor labels it (in truth GiB)
    mem_bw_gbps: float  # nameplate, decimal GB/s: the memory roof
    measured_bw_gbps: float | None
    peaks: Mapping[str, Peak]
    aliases: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    reported_sms: int | None = None  # what a trace's numSms says (RDNA counts work-group processors)
    measured_bw_grade: str = ""

    def roof_tflops(self, spec: str) -> float | None:
        """Return the compute roof for a spec, None where the platform has no such peak."""
        peak = self.peaks.get(spec)
        return None if peak is None else peak.roof
