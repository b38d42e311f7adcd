"""Losses, optimizers and list ops against values worked out by hand."""

import pytest

from tests.perf.calling import BF16, FP32, args, figures
from tracelens_tui.perf.registry import cost_of

S, LONG, TENSORS = "Scalar", "long int", "TensorList"
ADAM = (
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
    "FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, 0, 0>>()"
)
ADD = (
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
    "TensorListMetadata<2>, BinaryOpListAlphaFunctor<c10::BFloat16, 2, 2, 0>, std::plus<float>, float>()"
)


@pytest.mark.parametrize(
    ("name", "dims", "types", "concrete", "expected"),
    [
        ("aten::mse_loss", [[5, 128], [5, 128], []], FP32, ["", "", "1"], (1920, 5120, 4)),
        ("aten::mse_loss", [[5, 3], [5, 3], []], BF16, ["", "", "0"], (30, 60, 30)),
        ("aten::mse_loss_backward", [[], [5, 3], [5, 3], [], [5, 3]], [FP32, FP32, FP32, S, FP32],
         ["", "", "", "1", ""], (45, 4 + 120, 60)),
        ("aten::smooth_l1_loss", [[4], [4], [], []], FP32, ["", "", "2", "1."], (24, 32, 4)),
        ("aten::huber_loss_backward", [[4], [4], [4], [], []], FP32, [], (20, 48, 16)),
        ("aten::binary_cross_entropy", [[6], [6], [6], []], FP32, ["", "", "", "1"], (9 * 6, 72, 4)),
        ("aten::binary_cross_entropy_backward", [[], [6], [6], [], []], [FP32, FP32, FP32, "", S],
         ["", "", "", "", "1"], (30, 52, 24)),
        ("aten::nll_loss_forward", [[32, 1000], [32], [], [], []], [FP32, LONG, "", S, S], ["", "", "", "1", "-100"],
         (32, 128 + 256, 8)),
        ("aten::nll_loss_forward", [[8, 10], [8], [10], [], []], [BF16, LONG, BF16, S, S], ["", "", "", "0", "-100"],
         (8, 16 + 64 + 16, 16)),
        ("aten::nll_loss2d_backward", [[], [2, 7, 3, 3], [2, 3, 3], [], [], [], []],
         [FP32, FP32, LONG, "", S, S, FP32], ["", "", "", "", "1", "-100", ""], (18, 4 + 144 + 4, 4 * 126)),
        ("CrossEntropyFunction", [[4, 1, 32_000], [4, 1]], [BF16, LONG], [], (5 * 128_000, 256_000 + 32, 16)),
    ],
)  # fmt: skip
def test_losses(name, dims, types, concrete, expected):
    assert figures(name, dims, types, concrete) == expected


LISTS = [[128, 128], [7]]
N = 128 * 128 + 7


@pytest.mark.parametrize(
    ("name", "lists", "rest", "kernels", "flops", "read", "written"),
    [
        ("aten::_foreach_add_", 2, [[]], [ADD], N, 4 * N, 2 * N),
        ("aten::_foreach_mul", 1, [[]], [ADD], N, 2 * N, 2 * N),
        ("aten::_foreach_addcdiv_", 3, [[]], [ADD], 3 * N, 6 * N, 2 * N),
        ("aten::_foreach_copy_", 2, [[]], [ADD], 0, 2 * N, 2 * N),
        ("aten::_foreach_zero_", 1, [], [ADD], 0, 0, 2 * N),
        ("aten::_foreach_norm", 1, [[]], [ADD], N, 2 * N, 4),
        ("aten::_foreach_sqrt", 1, [], [], N, None, None),
        ("aten::_amp_foreach_non_finite_check_and_unscale_", 1, [[1], [1]], [ADAM], 2 * N, 4 * N + 4, 4 * N + 4),
    ],
)
def test_list_ops(name, lists, rest, kernels, flops, read, written):
    types = [TENSORS] * lists + [FP32 if shape else S for shape in rest]
    assert figures(name, [LISTS] * lists + rest, types, (), kernels) == (flops, read, written)


@pytest.mark.parametrize(
    ("name", "decay", "amsgrad", "per_element", "read", "written"),
    [
        ("aten::_fused_adamw_", "0.01", "False", 14, 4, 3),
        ("aten::_fused_adamw_", "0.", "True", 14, 5, 4),
        ("aten::_fused_adam_", "0.01", "False", 15, 4, 3),
    ],
)
def test_adam(name, decay, amsgrad, per_element, read, written):
    steps = [[], []]
    dims = [LISTS] * 4 + [LISTS if amsgrad == "True" else [], steps] + [[]] * 9
    types = [TENSORS] * 6 + [S] * 7 + ["", ""]
    concrete = [""] * 6 + ["0.001", "0.9", "0.999", decay, "1e-08", amsgrad, "False", "", ""]
    assert figures(name, dims, types, concrete, [ADAM]) == (per_element * N, 4 * read * N, 4 * written * N)


def test_adagrad():
    dims = [LISTS, LISTS, LISTS, [[], []]] + [[]] * 5
    types = [TENSORS] * 4 + [S] * 5
    concrete = [""] * 4 + ["0.01", "0.", "0.1", "1e-10", "False"]
    assert figures("aten::_fused_adagrad_", dims, types, concrete, [ADAM]) == (9 * N, 12 * N, 8 * N)


@pytest.mark.parametrize(
    ("decay", "momentum", "nesterov", "first", "per_element", "read", "written"),
    [
        ("0.", "0.", "False", "False", 2, 2, 1),
        ("0.1", "0.9", "False", "False", 6, 3, 2),
        ("0.", "0.9", "True", "True", 6, 2, 2),
    ],
)
def test_sgd(decay, momentum, nesterov, first, per_element, read, written):
    dims = [LISTS, LISTS, LISTS if momentum != "0." else []] + [[]] * 9
    types = [TENSORS] * 3 + [S] * 7 + ["", ""]
    concrete = [""] * 3 + [decay, momentum, "0.1", "0.", nesterov, "False", first, "", ""]
    found = figures("aten::_fused_sgd_", dims, types, concrete, [ADAM])
    assert found == (per_element * N, 4 * read * N, 4 * written * N)


@pytest.mark.parametrize(
    ("name", "dims", "types", "concrete"),
    [
        ("aten::mse_loss", [[5], [6], []], FP32, ["", "", "1"]),
        ("aten::mse_loss", [[5], [5], []], FP32, []),  # reduced or not
        ("aten::nll_loss_forward", [[8, 10], [8], [], [], []], FP32, []),
        ("aten::_foreach_add_", [[], [], []], [TENSORS, TENSORS, S], []),  # no shapes
        ("aten::_foreach_add_", [LISTS, [], []], [TENSORS, TENSORS, S], []),
        ("aten::_foreach_add_", [LISTS, [[3], [4]], []], [TENSORS, TENSORS, S], []),
        ("aten::_fused_adamw_", [LISTS] * 4 + [[]] * 11, [TENSORS] * 6 + [S] * 9, []),
    ],
)
def test_no_answer(name, dims, types, concrete):
    assert cost_of(args(name, dims, types, concrete)) is None
