from __future__ import annotations

import os
import threading

import pytest

from sprocketmq.client.sync.loop_thread import loop_thread


async def name() -> str:
    return threading.current_thread().name


def test_runs_elsewhere_and_is_shared() -> None:
    assert loop_thread().run(name()) == "sprocketmq"
    assert loop_thread() is loop_thread()


def test_many_threads() -> None:
    seen: list[str] = []
    threads = [threading.Thread(target=lambda: seen.append(loop_thread().run(name()))) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert seen == ["sprocketmq"] * 10


def test_errors_come_through() -> None:
    async def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        loop_thread().run(fail())


def test_waiting_for_itself_is_refused() -> None:
    async def nested() -> str:
        return loop_thread().run(name())

    with pytest.raises(RuntimeError, match="wait for itself"):
        loop_thread().run(nested())


def test_a_forked_child_gets_a_loop_of_its_own() -> None:
    loop_thread().run(name())
    child = os.fork()
    if child == 0:
        os._exit(0 if loop_thread().run(name()) == "sprocketmq" else 1)
    assert os.waitpid(child, 0)[1] == 0
