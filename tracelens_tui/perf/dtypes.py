"""Element types as PyTorch traces spell them: size and the precision whose peak applies."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["float", "int", "bool", "complex"]


@dataclass(frozen=True, slots=True)
class Dtype:
    """One element type.  ``precision`` keys the platform's peaks; None where no floating-point peak applies."""

    name: str  # canonical: "bf16", "fp32", "int64", "bool", ...
    bytes: int  # per element of the recorded shape; a packed pair counts as one element
    precision: str | None
    kind: Kind = "float"
    values: int = 1  # numbers in one element: 2 in packed fp4


_FP8 = ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz")

_SPELLINGS: tuple[tuple[Dtype, tuple[str, ...]], ...] = (
    (Dtype("fp64", 8, "fp64"), ("double", "float64", "torch.float64")),
    (Dtype("fp32", 4, "fp32"), ("float", "float32", "torch.float32")),
    (Dtype("fp16", 2, "fp16"), ("c10::half", "half", "float16", "torch.float16", "fp16")),
    (Dtype("bf16", 2, "bf16"), ("c10::bfloat16", "bfloat16", "torch.bfloat16", "bf16")),
    (Dtype("fp8", 1, "fp8"), (*(f"c10::float8_{f}" for f in _FP8), *(f"torch.float8_{f}" for f in _FP8), "fp8")),
    (Dtype("fp8_scale", 1, None), ("c10::float8_e8m0fnu", "torch.float8_e8m0fnu")),
    (Dtype("fp4x2", 1, "fp4", values=2), ("c10::float4_e2m1fn_x2", "torch.float4_e2m1fn_x2")),
    (Dtype("int64", 8, None, "int"), ("long int", "long", "int64", "torch.int64", "unsigned long", "uint64")),
    (Dtype("int32", 4, None, "int"), ("int", "int32", "torch.int32", "unsigned int", "uint32")),
    (Dtype("int16", 2, None, "int"), ("short int", "short", "int16", "torch.int16", "unsigned short", "uint16")),
    (Dtype("int8", 1, None, "int"), ("signed char", "char", "int8", "torch.int8", "c10::qint8")),
    (Dtype("uint8", 1, None, "int"), ("unsigned char", "uint8", "torch.uint8", "c10::quint8")),
    (Dtype("bool", 1, None, "bool"), ("bool", "torch.bool")),
    (Dtype("complex32", 4, None, "complex"), ("c10::complex<c10::half>", "torch.complex32")),
    (Dtype("complex64", 8, None, "complex"), ("c10::complex<float>", "torch.complex64")),
    (Dtype("complex128", 16, None, "complex"), ("c10::complex<double>", "torch.complex128")),
)
_BY_SPELLING = {spelling: dtype for dtype, spellings in _SPELLINGS for spelling in spellings}

# PyTorch's ScalarType numbers, as an op's dtype argument is recorded ("15" = bfloat16)
_BY_CODE = {
    0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "half", 6: "float", 7: "double",
    8: "torch.complex32", 9: "torch.complex64", 10: "torch.complex128", 11: "bool", 15: "bfloat16",
    23: "torch.float8_e5m2", 24: "torch.float8_e4m3fn", 25: "torch.float8_e5m2fnuz", 26: "torch.float8_e4m3fnuz",
    27: "uint16", 28: "uint32", 29: "uint64", 44: "torch.float8_e8m0fnu", 45: "torch.float4_e2m1fn_x2",
}  # fmt: skip


def dtype_of(spelling: str) -> Dtype | None:
    """Return the element type of a trace's type string in any case, None for a scalar, a list or an unknown type."""
    return _BY_SPELLING.get(spelling.strip().lower())


def dtype_of_code(code: int) -> Dtype | None:
    """Return the element type of a recorded ScalarType number, None if it is unknown."""
    spelling = _BY_CODE.get(code)
    return None if spelling is None else _BY_SPELLING[spelling]


def matrix_precision(dtype: Dtype) -> str | None:
    """Return the precision of the matrix peak for operands of this type; 8-bit integers have one, wider ones do not."""
    return "int8" if dtype.name in {"int8", "uint8"} else dtype.precision
