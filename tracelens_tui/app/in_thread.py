"""Blocking calls without blocking the screen."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def in_thread(call: Callable[[], T]) -> T:
    """Return what the call returns, made in a thread; its errors come out here."""
    return await asyncio.to_thread(call)
