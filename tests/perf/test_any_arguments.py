"""Whatever a trace records as arguments, no model raises, and no figure is negative or other than whole."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tracelens_tui.perf.registry import cost_of, default_registry
from tracelens_tui.perf.types import OpArgs

SIZES = st.sampled_from([0, 1, 2, 3, 4, 7, 8, 32, 128, 1 << 40])
SHAPES = st.lists(SIZES, max_size=5).map(tuple)
DIMS = st.one_of(SHAPES, st.lists(SHAPES, min_size=1, max_size=3).map(tuple))
TYPES = st.sampled_from(
    [
        *("float", "double", "c10::Half", "c10::BFloat16", "int", "long int", "unsigned char", "bool", ""),
        *("c10::complex<float>", "c10::Float8_e4m3fn", "c10::Float4_e2m1fn_x2", "c10::NoSuchType"),
        *("TensorList", "ScalarList", "Scalar"),
    ]
)
NUMBERS = st.integers(min_value=-(10**19), max_value=10**19)
VALUES = st.one_of(
    st.sampled_from(["", "True", "False", "0", "1", "-1", "2", "0.5", "nan", "[]", "[0]", "(1,)", "[2., 2.]", "nuc"]),
    st.sampled_from(["[1, 1]", "[True, True, True]", "[True, False]", "[-3, 5]", "[0, 0]", "[2, 2, 2]", "x" * 50]),
    NUMBERS.map(str),
    st.lists(NUMBERS, max_size=6).map(str),
    st.lists(st.integers(min_value=-2, max_value=4), max_size=6).map(str),
    st.text(max_size=8),
)
KERNELS = st.sampled_from(["CatArrayBatchedCopy<OpaqueType<2u>>", "FusedAdamMathFunctor<float, 4>", "tf32", "Memset"])
RECORDED = st.tuples(
    st.lists(st.tuples(DIMS, TYPES, VALUES), max_size=17),
    st.lists(KERNELS, max_size=2),
    st.sampled_from([0, 1, 2]),
)
NAMES = sorted(default_registry().names)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(recorded=RECORDED)
def test_no_model_raises_or_answers_nonsense(recorded):
    arguments, kernels, left_out = recorded
    dims, types, concrete = zip(*arguments, strict=True) if arguments else ((), (), ())
    types = types if left_out != 1 else types[: len(types) // 2]
    concrete = concrete if left_out != 2 else ()
    for name in NAMES:
        cost = cost_of(OpArgs(name, dims, types, concrete=concrete, kernels=tuple(kernels)))
        if cost is not None:
            figures = (cost.flops, cost.bytes_read, cost.bytes_written, cost.bytes_moved)
            assert all(figure is None or (type(figure) is int and figure >= 0) for figure in figures), (name, cost)


def test_without_arguments_there_is_no_cost():
    for name in NAMES:
        cost = cost_of(OpArgs(name, (), ()))
        assert cost is None or (cost.flops is None and cost.bytes_moved is None), name
