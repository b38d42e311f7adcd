"""Run an iterator in a thread of its own, a few items ahead of whoever takes them."""

import queue
import threading
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")

_WAIT = 0.1  # seconds between looks at whether the taker has gone


class Background(Generic[T]):
    """The items of ``source``, made ahead of time; an exception of the source is raised where the next item is due.

    Use it as a context manager: leaving it stops the thread.
    """

    def __init__(self, source: Iterator[T], ahead: int = 4) -> None:
        self._source = source
        self._items: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(ahead)
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tracelens-read", daemon=True)
        self._over = False

    def __enter__(self) -> "Background[T]":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._left.set()
        self._thread.join()

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        if self._over:
            raise StopIteration
        item, error = self._items.get()
        if error is not None:
            self._over = True
            raise error
        if item is None:
            self._over = True
            raise StopIteration
        return item

    def _run(self) -> None:
        try:
            for item in self._source:
                if not self._put(item, None):
                    return
            self._put(None, None)
        except BaseException as error:  # noqa: BLE001 - handed over to the thread that takes the items
            self._put(None, error)

    def _put(self, item: T | None, error: BaseException | None) -> bool:
        while not self._left.is_set():
            try:
                self._items.put((item, error), timeout=_WAIT)
            except queue.Full:
                continue
            return True
        return False
