"""Prose: references become values, nothing else may be a number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens_tui.errors import UserError
from tracelens_tui.report.evidence import bare_numbers, malformed_references, references, resolve, shown
from tracelens_tui.run.findings import Evidence


def item(value: float | str, unit: str = "", digits: int = 1, name: str = "x") -> Evidence:
    return Evidence(id=name, label="l", value=value, unit=unit, digits=digits, source="a.json", key="k")


@pytest.mark.parametrize(
    ("evidence", "text"),
    [
        (item(12.345, "%"), "12.3 %"),
        (item(12.345, "ms", 2), "12.35 ms"),
        (item(1412, "calls"), "1,412 calls"),
        (item(1412.0, "calls", 0), "1,412 calls"),
        (item(3.0, "×"), "3.0×"),
        (item(-0.0), "0.0"),
        (item(0), "0"),
        (item(0.0), "0.0"),
        (item(0.004, "ms"), "0.004 ms"),  # never shown as zero
        (item(-0.00004), "-0.00004"),
        (item(0.06), "0.1"),
        (item("aten::mm"), "aten::mm"),
        (item("evil\x1b[31m\nname"), "evil name"),
    ],
)
def test_values_with_their_units(evidence: Evidence, text: str) -> None:
    assert shown(evidence) == text


def test_references_are_filled_in() -> None:
    evidence = [item(50.0, "ms", name="time"), item("aten::mm", name="op")]
    assert resolve("[[op]] takes [[time]], `[[op]]`.", evidence) == "aten::mm takes 50.0 ms, `aten::mm`."
    assert references("[[op]] takes [[time]], `[[op]]`.") == ["op", "time", "op"]


def test_an_unknown_reference_is_an_error() -> None:
    with pytest.raises(UserError, match=r"\[\[time\]\], which is not among its evidence"):
        resolve("takes [[time]]", [item(1.0)])


def test_a_value_is_not_read_as_a_reference() -> None:
    assert resolve("[[a]]", [item("[[b]]", name="a"), item("secret", name="b")]) == "[[b]]"


@pytest.mark.parametrize(
    "prose",
    [
        "bf16 on MI300X, H100 and gfx942: aten::conv2d, P1, sm_90, fp8_e4m3, c10::BFloat16, torch.float32.",
        "two passes, the first of them, once",
        "FlashAttention-3 and GPT-2",
        "[[a]] of [[b.c]] in [[d-1]]",
        "`VLLM_ROCM_USE_AITER=1` and `--lr=1e-3`",
        "`transpose(1, 2)` then `x[0][1]` and `f(g(1), [2, 3])`",
        '`attn_implementation="sdpa"`',
    ],
)
def test_names_and_settings_are_no_numbers(prose: str) -> None:
    assert bare_numbers(prose) == []


@pytest.mark.parametrize(
    "prose",
    [
        "37 %", "37%", "by 37", "2x faster", "1x1", "16-byte", "CUDA 12", "3.5", "-7", "1e5", "H100-80GB", "saves-37",
        "½ of it", "x²≈4", "٣", "a ²", "Saves-37%", "(12)", "[12]", "v.2", "forty percent", "Two hundred milliseconds",
        "three times faster", "ten-fold", "`37 %`", "`37`", "`a=37%`", "`x 37`", "first 3", "１２", "five µs", "P 1",
    ],
)  # fmt: skip
def test_numbers_are_found(prose: str) -> None:
    assert bare_numbers(prose)


@given(st.text(max_size=40))
def test_any_text_is_judged(prose: str) -> None:
    found = bare_numbers(prose)
    if prose.isascii() and not any(c.isdigit() for c in prose) and "%" not in prose:
        words = (
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "teen",
            "ty",
            "ro",
            "eve",
        )
        assert not found or any(word in prose.lower() for word in words)


@given(st.integers(0, 10**9), st.sampled_from(["{} %", "it takes {} ms", "{}x", "({})", "about {}, or so"]))
def test_every_number_is_found(number: int, prose: str) -> None:
    assert bare_numbers(prose.format(number))


@pytest.mark.parametrize(
    ("prose", "wrong"), [("[[A]]", True), ("[[a", True), ("a]]", True), ("[[a]]", False), ("`x[[0]]`", False)]
)
def test_malformed_references(prose: str, wrong: bool) -> None:
    assert malformed_references(prose) is wrong
