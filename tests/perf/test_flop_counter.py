"""FLOPs against ``torch.utils.flop_counter``, an independent count; skipped where PyTorch is not installed.

The counter is asked by shapes alone (meta tensors): nothing is computed.  It counts no bias, no causal mask and, in the
backward pass of attention, the five products.
"""

import random
from itertools import pairwise

import pytest

from tests.perf.calling import BF16, args
from tracelens_tui.perf.registry import cost_of

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install -e '.[torch]'")
flop_counter = pytest.importorskip("torch.utils.flop_counter", reason="this PyTorch has no flop counter")


def counted(call) -> int:
    with flop_counter.FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


def meta(*shape):
    return torch.empty(shape, device="meta", dtype=torch.bfloat16)


def sizes(seed, count, most=96):
    draw = random.Random(seed)
    return [draw.randint(1, most) for _ in range(count)]


def ours(name, dims, concrete=()) -> int:
    cost = cost_of(args(name, dims, BF16, concrete))
    assert cost is not None
    assert cost.flops is not None
    return cost.flops


@pytest.mark.parametrize("seed", range(8))
def test_products(seed):
    b, m, k, n = sizes(seed, 4)
    assert ours("aten::mm", [[m, k], [k, n]]) == counted(lambda: torch.mm(meta(m, k), meta(k, n)))
    assert ours("aten::bmm", [[b, m, k], [b, k, n]]) == counted(lambda: torch.bmm(meta(b, m, k), meta(b, k, n)))
    added = ours("aten::addmm", [[n], [m, k], [k, n], [], []], ["", "", "", "1", "1"])
    assert added - m * n == counted(lambda: torch.addmm(meta(n), meta(m, k), meta(k, n)))
    summed = ours("aten::baddbmm", [[b, m, n], [b, m, k], [b, k, n], [], []], ["", "", "", "1", "1"])
    assert summed - b * m * n == counted(lambda: torch.baddbmm(meta(b, m, n), meta(b, m, k), meta(b, k, n)))


@pytest.mark.parametrize("seed", range(8))
def test_convolution(seed):
    batch, channels, filters, size = sizes(seed, 4, 24)
    kernel, stride = sizes(seed + 100, 2, 3)
    size += kernel
    x, w = [batch, channels, size, size], [filters, channels, kernel, kernel]
    concrete = ["", "", "", f"[{stride}, {stride}]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1"]
    count = counted(lambda: torch.nn.functional.conv2d(meta(*x), meta(*w), stride=stride))
    assert ours("aten::convolution", [x, w, *[[]] * 7], concrete) == count


@pytest.mark.parametrize("seed", range(8))
def test_attention(seed):
    b, h, n_q, n_kv = sizes(seed, 4, 32)
    d = 8 * random.Random(seed).randint(1, 16)
    q, kv = [b, h, n_q, d], [b, h, n_kv, d]
    forward = flop_counter.sdpa_flop_count(q, kv, kv)
    name = "aten::_scaled_dot_product_flash_attention"
    assert ours(name, [q, kv, kv, *[[]] * 4], ["", "", "", "0.", "False"]) == forward
    backward = flop_counter.sdpa_backward_flop_count(q, q, kv, kv)
    dims = [q, q, kv, kv, q, [b, h, n_q], *[[]] * 8]
    assert ours(f"{name}_backward", dims, [*[""] * 10, "0.", "False"]) == backward


def test_the_sizes_are_not_all_alike():
    drawn = [sizes(seed, 4) for seed in range(8)]
    assert all(one != other for one, other in pairwise(drawn))
