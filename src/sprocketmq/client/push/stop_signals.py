"""SIGTERM and SIGINT while a consumer runs: how systemd, Docker, Kubernetes and a keyboard end a worker.

    with on_stop_signal(callback):      the first signal calls `callback`, on the main thread, between two instructions
        ...                             a second one does what it would have done without us: it ends the process

Several may wait at once, each with its own callback. Handlers are set by the main thread only, as Python demands, and a
handler that the program has set itself stays: then the program decides.
"""

from __future__ import annotations

import functools
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

#: SIGTERM last: whoever sees that it is caught knows that all are.
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_callbacks: list[Callable[[], object]] = []
_replaced: dict[signal.Signals, Any] = {}


@contextmanager
def on_stop_signal(callback: Callable[[], object]) -> Iterator[None]:
    """`callback` must be quick and may not raise: it tells an event loop, or sets an event."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _callbacks.append(callback)
    _take_over()
    try:
        yield
    finally:
        _callbacks.remove(callback)
        if not _callbacks:
            _give_back()


def _take_over() -> None:
    for number in _SIGNALS:
        before = signal.getsignal(number)
        if _is_default(before):
            _replaced[number] = before
            signal.signal(number, _on_signal)


def _give_back() -> None:
    for number, before in _replaced.items():
        if signal.getsignal(number) is _on_signal:
            signal.signal(number, before)
    _replaced.clear()


def _on_signal(_number: int, _frame: FrameType | None) -> None:
    _give_back()
    for callback in list(_callbacks):
        callback()


def _is_default(handler: Any) -> bool:
    """Whether nobody but Python itself, or asyncio for `asyncio.run`, has set it."""
    if isinstance(handler, functools.partial):
        return getattr(handler.func, "__qualname__", "") == "Runner._on_sigint"
    return handler in (signal.SIG_DFL, signal.default_int_handler)
