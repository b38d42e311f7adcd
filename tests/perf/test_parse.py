import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens_tui.perf.dtypes import dtype_of, dtype_of_code
from tracelens_tui.perf.operands import tensor
from tracelens_tui.perf.parse import as_bool, as_float, as_int, as_ints, op_args
from tracelens_tui.perf.registry import cost_of, default_registry


def test_lists_become_shapes_types_and_values():
    parsed = op_args(
        "aten::cat",
        "[[[16, 4], [16, 8]], [], [2, 3]]",
        '["TensorList", "Scalar", "float"]',
        "[[[4, 1], [8, 1]], [], [3, 1]]",
        '["", "-1", ""]',
        ["k1", "k2"],
    )
    assert parsed.dims == (((16, 4), (16, 8)), (), (2, 3))
    assert parsed.types == ("TensorList", "Scalar", "float")
    assert parsed.strides[2] == (3, 1)
    assert parsed.concrete == ("", "-1", "")
    assert parsed.kernels == ("k1", "k2")
    assert tensor(parsed, 0) is None
    assert tensor(parsed, 1) is None
    found = tensor(parsed, 2)
    assert found is not None
    assert (found.shape, found.numel, found.bytes) == ((2, 3), 6, 24)


@pytest.mark.parametrize(
    "dims",
    [
        "",
        "null",
        "{}",
        "[[1, 2",
        "[[1.5]]",
        "[[-1]]",
        '[["2"]]',
        "[[true]]",
        "[[[[1]]]]",
        "[1, 2]",
        "[[4611686018427387905]]",
        "[[4611686018427387904, 2]]",
        "[[99999999999999999999999999]]",
        "__import__('os').system('true')",
        "[" * 100_000,
        "\ud800",
    ],
)
def test_unreadable_dims_are_no_dims(dims):
    parsed = op_args("aten::mm", dims, '["float", "float"]')
    assert parsed.dims == ()
    assert cost_of(parsed) is None


def test_one_unreadable_shape_spoils_the_list():
    assert op_args("aten::mm", "[[2, 2], [2, -2]]", "[]").dims == ()


def test_strides_may_be_large_and_zero():
    assert op_args("x", "[]", "[]", "[[4611686018427387904, 0, 4611686018427387904]]").strides == (
        (4611686018427387904, 0, 4611686018427387904),
    )


def test_values_that_are_no_strings_become_text():
    assert op_args("x", "", "", "", '[1, null, true, "a"]').concrete == ("1", "", "True", "a")


@pytest.mark.parametrize(
    ("function", "text", "expected"),
    [
        (as_bool, "True", True),
        (as_bool, "false", False),
        (as_bool, "1", None),
        (as_bool, "", None),
        (as_int, "15", 15),
        (as_int, "-1", -1),
        (as_int, "1.0", None),
        (as_int, "٣", None),
        (as_int, "9" * 30, None),
        (as_float, "0.", 0.0),
        (as_float, "9.9999999999999998e-13", 1e-12),
        (as_float, "nan", None),
        (as_float, "inf", None),
        (as_float, "1_0", None),
        (as_float, "", None),
        (as_ints, "[16, 16]", (16, 16)),
        (as_ints, "[]", ()),
        (as_ints, "[1.5]", None),
        (as_ints, "16", None),
    ],
)
def test_recorded_values(function, text, expected):
    assert function(text) == expected


@pytest.mark.parametrize(
    ("spelling", "size", "precision"),
    [
        ("c10::BFloat16", 2, "bf16"),
        ("c10::Half", 2, "fp16"),
        ("float", 4, "fp32"),
        ("double", 8, "fp64"),
        ("long int", 8, None),
        ("int", 4, None),
        ("short int", 2, None),
        ("signed char", 1, None),
        ("unsigned char", 1, None),
        ("bool", 1, None),
        ("c10::Float8_e4m3fn", 1, "fp8"),
        ("c10::Float8_e4m3fnuz", 1, "fp8"),
        ("c10::Float8_e5m2", 1, "fp8"),
        ("c10::Float8_e5m2fnuz", 1, "fp8"),
        ("c10::Float8_e8m0fnu", 1, None),
        ("c10::Float4_e2m1fn_x2", 1, "fp4"),
        ("c10::complex<float>", 8, None),
        ("c10::complex<double>", 16, None),
    ],
)
def test_element_types(spelling, size, precision):
    dtype = dtype_of(spelling)
    assert dtype is not None
    assert (dtype.bytes, dtype.precision) == (size, precision)


def test_no_element_type():
    assert [dtype_of(t) for t in ("", "Scalar", "TensorList", "c10::SomeFutureType")] == [None] * 4
    assert dtype_of_code(15) == dtype_of("c10::BFloat16")
    assert dtype_of_code(24) == dtype_of("c10::Float8_e4m3fn")
    assert dtype_of_code(99) is None


_shapes = st.lists(st.integers(0, 2**40), max_size=5)
_entries = st.one_of(_shapes, st.lists(_shapes, max_size=3))
_types = st.sampled_from(["float", "c10::BFloat16", "Scalar", "", "bool", "long int", "c10::complex<float>", "what"])
_values = st.sampled_from(["", "0", "1", "True", "False", "15", "-1", "0.5", "[1]"])


@given(
    name=st.sampled_from(sorted(default_registry().names)),
    dims=st.lists(_entries, max_size=9),
    types=st.lists(_types, max_size=9),
    values=st.lists(_values, max_size=13),
)
def test_a_model_answers_or_says_that_it_cannot(name, dims, types, values):
    cost = cost_of(op_args(name, json.dumps(dims), json.dumps(types), json.dumps(dims), json.dumps(values)))
    if cost is not None:
        assert cost.flops is None or cost.flops >= 0
        assert cost.bytes_moved is None or cost.bytes_moved >= 0
        assert cost.unit in {"matrix", "vector"}


@given(st.text())
def test_any_text_is_parsed_without_an_error(text):
    assert op_args("aten::mm", text, text, text, text).name == "aten::mm"
