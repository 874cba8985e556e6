from __future__ import annotations

import asyncio
import os
import signal
import threading

from sprocketmq.client.push.stop_signals import on_stop_signal


def test_every_waiter_hears_the_first_signal_and_the_old_handlers_come_back() -> None:
    before, heard = signal.getsignal(signal.SIGTERM), list[str]()
    with on_stop_signal(lambda: heard.append("a")), on_stop_signal(lambda: heard.append("b")):
        os.kill(os.getpid(), signal.SIGTERM)
        assert heard == ["a", "b"]
        assert signal.getsignal(signal.SIGTERM) is before  # a second one ends the process
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_handler_of_the_program_stays() -> None:
    heard, ours = list[int](), list[str]()
    before = signal.signal(signal.SIGTERM, lambda number, _frame: heard.append(number))
    try:
        with on_stop_signal(lambda: ours.append("stop")):
            os.kill(os.getpid(), signal.SIGTERM)
        assert heard == [signal.SIGTERM]
        assert not ours
    finally:
        signal.signal(signal.SIGTERM, before)


def test_the_one_of_asyncio_run_is_replaced_meanwhile() -> None:
    heard: list[str] = []

    async def main() -> None:
        runners = signal.getsignal(signal.SIGINT)
        with on_stop_signal(lambda: heard.append("stop")):
            os.kill(os.getpid(), signal.SIGINT)
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
