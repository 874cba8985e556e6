"""Runs a program's main coroutine, on uvloop where the platform has it."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


#: Objects made before the collector looks for cycles: requests that wait for the disk are many, and none is a cycle.
_YOUNG = 20_000


def run(main: Coroutine[Any, Any, T]) -> T:
    gc.freeze()  # what is imported stays
    gc.set_threshold(_YOUNG)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(main)
