"""Data movement, creation and ordering: the bytes that must be read and written, worked out by hand."""

import pytest

from tests.perf.calling import BF16, FP32, args, figures
from tracelens_tui.perf.kernel_types import element_type
from tracelens_tui.perf.registry import cost_of, default_registry

S, LIST, LONG = "Scalar", "ScalarList", "long int"
CAT2 = (
    "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<2u>, "
    "unsigned int, 4, 64, 64>(at::native::(anonymous namespace)::OpaqueType<2u>*)"
)
CAT_LONG = (
    "void at::native::(anonymous namespace)::CatArrayBatchedCopy_aligned16_contig<long, unsigned int, 2, 128, 1>(long*)"
)


def test_cat_has_the_element_size_of_its_kernel():
    dims = [[[16, 16, 559, 32], [16, 16, 559, 32]], []]
    half = 16 * 16 * 559 * 32
    assert figures("aten::cat", dims, ["TensorList", S], ["", "-1"], [CAT2]) == (0, 4 * half, 4 * half)
    assert figures("aten::cat", [[[3], [4], [0]], []], ["TensorList", S], ["", "0"], [CAT_LONG]) == (0, 56, 56)
    out = figures("aten::cat", [[[3, 2], [4, 2]], [], [7, 2]], ["TensorList", S, FP32], ["", "0", ""])
    assert out == (0, 56, 56)
    assert figures("aten::cat", dims, ["TensorList", S], ["", "-1"]) == (0, None, None)


def test_cat_without_recorded_shapes_has_no_answer():
    assert cost_of(args("aten::cat", [[], []], ["TensorList", S], ["", "0"], kernels=[CAT2])) is None


@pytest.mark.parametrize(
    ("kernels", "size"),
    [
        ([CAT2], 2),
        ([CAT_LONG], 8),
        (
            ["multi_tensor_apply_kernel<TensorListMetadata<2>, BinaryOpListAlphaFunctor<c10::BFloat16, 2, 2, 0>>()"],
            2,
        ),
        (["void CatArrayBatchedCopy<c10::complex<float>, unsigned int, 2>(int)"], 8),
        ([CAT2, CAT_LONG], None),
        (["Memcpy DtoD (Device -> Device)"], None),
        (["OpaqueType<0u>"], None),
        ([], None),
    ],
)
def test_element_types_of_kernels(kernels, size):
    found = element_type(kernels)
    assert (None if found is None else found.bytes) == size


@pytest.mark.parametrize(
    ("name", "dims", "types", "concrete", "expected"),
    [
        ("aten::index_select", [[512, 512], [], [141]], [BF16, S, LONG], ["", "0", ""],
         (0, 2 * 141 * 512 + 8 * 141, 2 * 141 * 512)),
        # 5 of 3 columns: no more is read than there is
        ("aten::index_select", [[4, 3], [], [5]], [FP32, S, "int"], ["", "-1", ""], (0, 48 + 20, 80)),
        ("aten::gather", [[32, 64], [], [65_536, 64], [], [65_536, 64]], [BF16, S, LONG, S, BF16],
         ["", "0", "", "", ""], (0, 2 * 2048 + 8 * 4_194_304, 2 * 4_194_304)),
        ("aten::take", [[100], [7]], [FP32, LONG], [], (0, 28 + 56, 28)),
        ("aten::embedding_dense_backward", [[4, 10, 64], [4, 10], [], [], []], [BF16, LONG, S, S, S],
         ["", "", "1000", "-1", "False"], (2560, 5120 + 320, 128_000)),
        ("aten::_embedding_bag", [[100, 8], [40], [5]] + [[]] * 6, [FP32, LONG, LONG] + [S] * 6,
         ["", "", "", "False", "0", "False", "", "True", "-1"], (320, 1280 + 320 + 40, 4 * 4 * 8)),
        ("aten::scatter_add_", [[50], [], [61], [61]], [FP32, S, LONG, FP32], ["", "0", "", ""],
         (61, 200 + 488 + 244, 200)),
        ("aten::scatter_", [[2, 9, 1], [], [1, 9, 1], [1, 9, 1]], [FP32, S, LONG, FP32], ["", "0", "", ""],
         (0, 72 + 36, 36)),
        ("aten::scatter", [[4, 5], [], [4, 1], []], [BF16, S, LONG, S], ["", "1", "", "1."], (0, 40 + 32, 40)),
        ("aten::index_add_", [[755_000], [], [1024], [1024], []], [FP32, S, "int", FP32, S], ["", "0", "", "", "1"],
         (1024, 3 * 4096, 4096)),
        ("aten::index_copy_", [[7, 3], [], [2], [2, 3]], ["double", S, LONG, "double"], ["", "0", "", ""],
         (0, 16 + 48, 48)),
        ("aten::index_fill_", [[7, 3], [], [2], []], [FP32, S, LONG, S], ["", "1", "", "0."], (0, 16, 56)),
        ("aten::roll", [[6, 7], [], []], [BF16, LIST, LIST], ["", "[1]", "[0]"], (0, 84, 84)),
        ("aten::tril", [[5, 5], []], ["bool", S], ["", "0"], (0, 25, 25)),
        # 2·2 windows of 2·2 on a 3×3 image
        ("aten::im2col", [[1, 2, 3, 3], [], [], [], []], FP32, ["", "[2, 2]", "[1, 1]", "[0, 0]", "[1, 1]"],
         (0, 72, 4 * 2 * 4 * 4)),
        ("aten::col2im", [[1, 8, 4], [], [], [], [], []], FP32, ["", "[3, 3]", "[2, 2]", "[1, 1]", "[0, 0]", "[1, 1]"],
         (32, 128, 72)),
        ("aten::unfold_backward", [[3, 2], [], [], [], []], FP32, ["", "[4]", "0", "2", "1"], (6, 24, 16)),
        ("aten::searchsorted", [[100], [7], [], [], [], []], [FP32, FP32, S, S, "", ""], ["", "", "True"],
         (0, 428, 28)),
        ("aten::bucketize", [[7], [9], [], []], [FP32, FP32, S, S], ["", "", "False", "False"], (0, 64, 56)),
    ],
)  # fmt: skip
def test_indexing(name, dims, types, concrete, expected):
    assert figures(name, dims, types, concrete) == expected


@pytest.mark.parametrize(
    ("name", "dims", "types", "concrete", "expected"),
    [
        ("aten::embedding", [[1000, 64], [4, 10], [], [], []], [BF16, LONG, S, S, S], [], (0, 5120 + 320, 5120)),
        ("aten::slice_backward", [[3, 5], [], [], [], [], []], FP32, ["", "[3, 20]", "1", "0", "5", "1"],
         (0, 60, 240)),
        ("aten::as_strided_scatter", [[4, 5], [2, 5], [], [], []], FP32, [], (0, 80, 80)),
        ("aten::repeat", [[3], []], FP32, ["", "[2, 4]"], (0, 12, 96)),
        ("aten::constant_pad_nd", [[2, 3, 5], [], []], BF16, ["", "[1, 2, 0, 1]", "0"], (0, 60, 2 * 2 * 4 * 8)),
        ("aten::constant_pad_nd", [[4, 5], [], []], BF16, ["", "[-2, 0]", "0"], (0, 24, 24)),
        ("aten::masked_fill", [[4, 5], [5], []], [FP32, "bool", S], [], (20, 85, 80)),
    ],
)  # fmt: skip
def test_composed_ops_count_where_they_launch_themselves(name, dims, types, concrete, expected):
    model = default_registry().model(name)
    assert model is not None
    assert model.leaf_only
    assert figures(name, dims, types, concrete) == expected


@pytest.mark.parametrize(
    ("name", "dims", "types", "concrete", "expected"),
    [
        ("aten::arange", [[], [], [], [0]], [S, S, S, LONG], ["0", "559", "1", ""], (559, 0, 8 * 559)),
        ("aten::arange", [[], [0]], [S, FP32], ["7.5", ""], (8, 0, 32)),
        ("aten::arange", [[], [], [], [], [], []], [S, S, "", "", "", S], ["2", "11", "", "", "", "False"],
         (9, 0, 72)),
        ("aten::arange", [[], [], [], [], []], [S, S, "", "", S], ["0.5", "", "", "", ""], (1, 0, 4)),
        ("aten::arange", [[]] * 7, [S] * 4 + [""] * 3, ["10", "0", "-3", "6", "", "", ""], (4, 0, 16)),
        ("aten::linspace", [[], [], [], [5]], [S, S, S, "double"], ["0.", "1.", "5", ""], (5, 0, 40)),
        ("aten::normal_", [[8, 16, 3, 3], [], [], []], [FP32, S, S, ""], ["", "0.", "1.", ""], (1152, 0, 4608)),
        ("aten::bernoulli_", [[5], [5], []], ["bool", FP32, ""], [], (5, 20, 5)),
        ("aten::bernoulli_", [[5], [], []], [BF16, S, ""], ["", "0.5", ""], (5, 0, 10)),
        ("aten::bernoulli", [[6], []], [FP32, ""], [], (6, 24, 24)),
        ("aten::randperm", [[], [0]], [S, LONG], ["10", ""], (10, 0, 80)),
        ("aten::native_dropout", [[3, 5], [], []], [BF16, S, S], ["", "0.1", "True"], (30, 30, 30 + 15)),
        ("aten::native_dropout_backward", [[3, 5], [3, 5], []], [BF16, "bool", S], ["", "", "1.25"], (30, 45, 30)),
    ],
)  # fmt: skip
def test_creation(name, dims, types, concrete, expected):
    assert figures(name, dims, types, concrete) == expected


@pytest.mark.parametrize(
    ("name", "dims", "types", "concrete", "expected"),
    [
        ("aten::sort", [[3, 7], [], []], [FP32, S, S], ["", "-1", "False"], (0, 84, 21 * 12)),
        ("aten::topk", [[4, 400], [], [], [], []], [BF16, S, S, S, S], ["", "5", "-1", "True", "True"],
         (0, 3200, 20 * 10)),
        ("aten::kthvalue", [[4, 9], [], [], []], [FP32, S, S, S], ["", "2", "0", "False"], (0, 144, 9 * 12)),
        ("aten::median", [[4, 9]], [FP32], [""], (0, 144, 4)),
        ("aten::median", [[4, 9], [], []], [FP32, S, S], ["", "1", "False"], (0, 144, 48)),
        ("aten::multinomial", [[2, 50], [], [], []], [FP32, S, S, ""], ["", "3", "True", ""], (0, 400, 48)),
        ("aten::nonzero", [[4]], ["bool"], [""], (0, 4, None)),
    ],
)  # fmt: skip
def test_ordering(name, dims, types, concrete, expected):
    assert figures(name, dims, types, concrete) == expected


@pytest.mark.parametrize(
    ("name", "dims", "types", "concrete"),
    [
        ("aten::index_select", [[4, 3], [], [5]], [FP32, S, LONG], []),  # which dimension
        ("aten::index_select", [[4, 3], [], [5]], [FP32, S, LONG], ["", "2", ""]),
        ("aten::embedding_dense_backward", [[4, 64], [4], [], [], []], BF16, []),
        ("aten::arange", [[], [], [], [0]], [S, S, S, LONG], []),
        ("aten::arange", [[], [], [], [0]], [S, S, S, LONG], ["0", "5", "0", ""]),
        ("aten::arange", [[], [], [], [0]], [S, S, S, LONG], ["0", "5", "-1", ""]),
        ("aten::topk", [[400], [], [], [], []], [BF16, S, S, S, S], ["", "401", "-1", "True", "True"]),
        ("aten::native_dropout_backward", [[3, 5], [3], []], [BF16, "bool", S], []),
        ("aten::im2col", [[1, 2, 3, 3], [], [], [], []], FP32, ["", "[9, 9]", "[1, 1]", "[0, 0]", "[1, 1]"]),
    ],
)
def test_no_answer(name, dims, types, concrete):
    assert cost_of(args(name, dims, types, concrete)) is None
