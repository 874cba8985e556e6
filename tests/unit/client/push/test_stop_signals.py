from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator

import pytest

from sprocketmq.client.push.stop_signals import on_stop_signal


@pytest.fixture(autouse=True)
def as_python_starts() -> Iterator[None]:
    """A library that another test has used may have left a handler, which would stay as a program's own does."""
    on_term = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    on_int = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGTERM, on_term)
    signal.signal(signal.SIGINT, on_int)


def test_every_waiter_hears_the_first_signal_and_the_old_handlers_come_back() -> None:
    before, heard = signal.getsignal(signal.SIGTERM), list[str]()
    with on_stop_signal(lambda: heard.append("a")), on_stop_signal(lambda: heard.append("b")):
        signal.raise_signal(signal.SIGTERM)
        assert heard == ["a", "b"]
        assert signal.getsignal(signal.SIGTERM) is before  # a second one ends the process
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_handler_of_the_program_stays() -> None:
    heard, ours = list[int](), list[str]()
    before = signal.signal(signal.SIGTERM, lambda number, _frame: heard.append(number))
    try:
        with on_stop_signal(lambda: ours.append("stop")):
            signal.raise_signal(signal.SIGTERM)
        assert heard == [signal.SIGTERM]
        assert not ours
    finally:
        signal.signal(signal.SIGTERM, before)


def test_the_one_of_asyncio_run_is_replaced_meanwhile() -> None:
    heard: list[str] = []

    async def main() -> None:
        runners = signal.getsignal(signal.SIGINT)
        with on_stop_signal(lambda: heard.append("stop")):
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is runners

    asyncio.run(main())
    assert heard == ["stop"]


def test_other_threads_set_no_handler() -> None:
    before, inside = signal.getsignal(signal.SIGTERM), list[object]()

    def work() -> None:
        with on_stop_signal(lambda: None):
            inside.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert inside == [before]
