"""Recorded arguments in short form."""

import pytest

from tracelens_tui.app.args_text import args_text


@pytest.mark.parametrize(
    ("dims", "types", "shown"),
    [
        ("", "", ""),
        ("[[8,16],[]]", '["float","Scalar"]', "8×16 fp32"),
        ("[[[2,3],[4,5]]]", '["TensorList"]', "[2×3 4×5] TensorList"),
        ("[[8]]", "", "8"),
        ("not json", "", ""),
        ('{"a": 1}', "", ""),
        ("[[8]]", '["\\u001b[31mred"]', "8 red"),
    ],
)
def test_args_text(dims, types, shown):
    assert args_text(dims, types) == shown
