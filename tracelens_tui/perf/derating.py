"""From a datasheet peak to what dense work can reach, for GPUs that nobody has measured in public.

A factor is the median ratio of published measurements to the dense datasheet peak of the same kind of GPU; ``guess``
marks factors taken from a neighbour for want of any measurement.  A kind without a factor keeps its datasheet peak.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Factor:
    """Share of the dense datasheet peak that is reached, and whether there is evidence for it."""

    share: float
    guess: bool = False


def _family(sixteen_bit: tuple[float, float], eight_bit: float, wide: float, **others: Factor) -> dict[str, Factor]:
    """Return factors by spec: bf16 and fp16, fp8 (int8 follows it), fp32 and fp64 matrix, then what is special."""
    bf16, fp16 = sixteen_bit
    return {
        "matrix_bf16": Factor(bf16),
        "matrix_tf32": Factor(bf16, guess=True),
        "matrix_fp16": Factor(fp16),
        "matrix_fp8": Factor(eight_bit),
        "matrix_int8": Factor(eight_bit, guess=True),
        "matrix_fp32": Factor(wide),
        "matrix_fp64": Factor(wide),
        **others,
    }


def _vectors(share: float) -> dict[str, Factor]:
    """Return vector factors: measured in fp32, assumed for the other precisions."""
    guesses = {f"vector_{precision}": Factor(share, guess=True) for precision in ("fp64", "fp16", "bf16")}
    return {"vector_fp32": Factor(share), **guesses}


_LOW_POWER = 0.6  # boards of 150 W and less cannot hold the boost clock that the datasheet assumes

DERATING: dict[str, dict[str, Factor]] = {
    "nvidia_datacenter": _family(
        (0.80, 0.80),
        0.74,
        0.95,
        matrix_fp6=Factor(0.70, guess=True),
        matrix_fp4=Factor(0.70, guess=True),
        **_vectors(0.75),
    ),
    "low_power": {
        f"matrix_{precision}": Factor(_LOW_POWER, guess=True) for precision in ("bf16", "fp16", "tf32", "fp8", "int8")
    },
    "geforce": {},  # measurements reach or pass the sheet: the real boost clock is higher
    "cdna2": _family((0.90, 0.90), 0.90, 0.92, **_vectors(0.93)),
    "cdna3": _family((0.54, 0.50), 0.49, 0.60),
    "cdna3_1000w": _family((0.64, 0.60), 0.54, 0.60),
    "cdna4": _family((0.62, 0.61), 0.72, 0.98, matrix_fp6=Factor(0.13), matrix_fp4=Factor(0.32)),
    "": {},
}
