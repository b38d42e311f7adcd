"""Pairs that a mask leaves, against counting them one by one."""

from hypothesis import given
from hypothesis import strategies as st

from tracelens_tui.perf.attention_pairs import ALL, BOTTOM_RIGHT, TOP_LEFT, Mask, double_pairs

SIZE = st.integers(0, 12)
SIDE = st.none() | st.integers(0, 14)


def counted(n_q: int, n_kv: int, mask: Mask) -> int:
    """Twice the pairs, a pair on the diagonal of a causal mask counted once."""
    shift = 0 if mask.top_left else n_kv - n_q
    total = 0
    for query in range(n_q):
        own = query + shift
        for key in range(n_kv):
            seen = (mask.left is None or key >= own - mask.left) and (mask.right is None or key <= own + mask.right)
            total += (1 if key == own and mask.right == 0 else 2) if seen else 0
    return total


@given(SIZE, SIZE, st.booleans(), SIDE, SIDE)
def test_every_mask_is_counted_exactly(n_q, n_kv, top_left, left, right):
    mask = Mask(top_left=top_left, left=left, right=right)
    assert double_pairs(n_q, n_kv, mask) == counted(n_q, n_kv, mask)


def test_the_closed_forms():
    assert double_pairs(8, 24, ALL) == 2 * 8 * 24
    assert double_pairs(8, 24, BOTTOM_RIGHT) == 2 * 8 * 24 - 8**2
    assert double_pairs(24, 8, BOTTOM_RIGHT) == 8**2
    assert double_pairs(8, 24, TOP_LEFT) == 8**2
    assert double_pairs(24, 8, TOP_LEFT) == 2 * 24 * 8 - 8**2
    assert double_pairs(10**9, 10**9, BOTTOM_RIGHT) == 10**18


def test_a_window_on_a_causal_mask_stays_causal():
    assert BOTTOM_RIGHT.within(128, None) == Mask(left=128, right=0)
    assert ALL.within(128, 64) == Mask(left=128, right=64)
    assert ALL.within(None, None) == ALL
    assert Mask(left=1).windowed
    assert not BOTTOM_RIGHT.windowed
