"""Items made ahead of time in another thread."""

import threading

import pytest

from tracelens_tui.ingest.background import Background


def test_all_items_in_order():
    with Background(iter(range(1000)), ahead=3) as items:
        assert list(items) == list(range(1000))
        assert list(items) == []


def test_an_exception_is_raised_where_the_next_item_is_due():
    def source():
        yield 1
        raise RuntimeError("torn")

    with Background(source()) as items:
        assert next(items) == 1
        with pytest.raises(RuntimeError, match="torn"):
            next(items)
        assert list(items) == []


def test_leaving_early_stops_the_thread():
    made = []

    def endless():
        while True:
            made.append(1)
            yield b"x"

    before = threading.active_count()
    with Background(endless(), ahead=2) as items:
        next(items)
    assert threading.active_count() == before
    count = len(made)
    assert count <= 5
    assert len(made) == count
