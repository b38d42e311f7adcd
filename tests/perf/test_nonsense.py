"""No model raises, whatever was recorded, and what it answers is never negative."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tracelens_tui.perf.matrix_families import MODELS
from tracelens_tui.perf.triton import MODELS as TRITON
from tracelens_tui.perf.types import OpArgs

SIZE = st.sampled_from([0, 1, 2, 3, 4, 8, 16, 64, 128, 1 << 30])
SHAPE = st.lists(SIZE, max_size=5).map(tuple)
DIMS = st.lists(SHAPE | st.lists(SHAPE, max_size=3).map(tuple), max_size=20).map(tuple)
TYPE = st.sampled_from(["c10::BFloat16", "float", "int", "unsigned char", "c10::Float8_e4m3fn", "Scalar", "", "what"])
VALUE = st.sampled_from(
    [
        "",
        "0",
        "1",
        "2",
        "-1",
        "8",
        "64",
        "128",
        "True",
        "False",
        "[4, 8]",
        "[-1, 0]",
        "nan",
        "bshd_bshd_bshd",
        "causal",
        "1e99",
    ]
)
ITERATION = st.sampled_from(
    ["", "execute_3_context_1(sq9sk30sqsq81sqsk270)_generation_2(sq2sk99sqsq2sqsk99)", "decode[tok=3]"]
)


def sound(number):
    return number is None or (type(number) is int and number >= 0)


@settings(max_examples=60)
@given(DIMS, st.lists(TYPE, max_size=20), DIMS, st.lists(VALUE, max_size=26), ITERATION)
def test_nonsense(dims, types, strides, concrete, iteration):
    for model in (*MODELS, *TRITON):
        name = (*model.names, *(f"{prefix}add_mul_0" for prefix in model.prefixes))[0]
        cost = model.cost(OpArgs(name, dims, tuple(types), strides, tuple(concrete), ("kernel",), iteration))
        if cost is not None:
            ends = [*(cost.flops_range or ()), *(cost.bytes_range or ())]
            assert all(map(sound, (cost.flops, cost.bytes_read, cost.bytes_written, *ends))), (name, cost)


@settings(max_examples=60)
@given(st.sampled_from([16, 64]), st.sampled_from([16, 128]), st.data())
def test_shapes_that_nearly_fit(m, k, data):
    """The same few sizes again and again, so that many of the models answer."""
    shape = st.sampled_from([(m, k), (k, m), (4, m, k), (4, k, m), (2, m, 4, k), (2, 4, m, k), (m,), (5,), ()])
    dims = tuple(data.draw(st.lists(shape, min_size=3, max_size=14)))
    types = tuple(data.draw(TYPE) for _ in dims)
    concrete = tuple(data.draw(VALUE) for _ in dims)
    for model in (*MODELS, *TRITON):
        name = (*model.names, *(f"{prefix}add_0" for prefix in model.prefixes))[0]
        cost = model.cost(OpArgs(name, dims, types, (), concrete))
        if cost is not None and cost.bytes_range is not None and cost.bytes_moved is not None:
            assert cost.bytes_range[0] <= cost.bytes_moved <= cost.bytes_range[1], (name, cost)
