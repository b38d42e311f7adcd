"""The ASCII mode."""

from rich.cells import cell_len

from tracelens_tui.app.glyphs import to_ascii


def test_glyphs_have_a_likeness_of_the_same_width():
    assert to_ascii("▸▾━│█✓…µ") == ">v=|#*~u"


def test_what_has_no_likeness_keeps_its_cells():
    shown = to_ascii("日本 é")
    assert shown == "???? ?"
    assert cell_len(shown) == cell_len("日本 é")
