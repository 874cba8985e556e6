from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import wait

import pytest

from sprocketmq.client.push.handler_threads import HandlerThreads


def test_jobs_run_side_by_side_up_to_the_limit() -> None:
    threads, together = HandlerThreads(3, "t"), threading.Barrier(3)
    futures = [threads.submit(together.wait, 60) for _ in range(9)]
    assert not wait(futures, 60).not_done
    assert {thread.name for thread in threading.enumerate() if thread.name.startswith("t_")} <= {"t_0", "t_1", "t_2"}
    threads.shutdown()


def test_a_free_thread_is_used_again() -> None:
    threads, names = HandlerThreads(5, "t"), set[str]()
    for _ in range(5):
        threads.submit(lambda: names.add(threading.current_thread().name)).result(60)
    threads.shutdown()
    assert len(names) <= 2  # one may not have said yet that it is free


def test_what_a_job_raises_is_its_futures() -> None:
    threads = HandlerThreads(1, "t")
    with pytest.raises(ZeroDivisionError):
        threads.submit(lambda: 1 // 0).result(60)
    assert threads.submit(lambda: 7).result(60) == 7
    threads.shutdown()


def test_a_shutdown_cancels_what_waits() -> None:
    threads, go = HandlerThreads(1, "t"), threading.Event()
    running, waiting = threads.submit(go.wait, 60), threads.submit(go.wait, 60)
    while not running.running():
        pass
    threads.shutdown(wait=False, cancel_futures=True)
    assert waiting.cancelled()
    with pytest.raises(RuntimeError, match="stopped"):
        threads.submit(print)
    go.set()
    assert running.result(60)


def test_one_that_hangs_does_not_keep_the_process() -> None:
    program = """
import threading
from sprocketmq.client.push.handler_threads import HandlerThreads
threads, begun = HandlerThreads(1, "t"), threading.Event()
threads.submit(lambda: (begun.set(), threading.Event().wait()))
begun.wait()
threads.shutdown(wait=False, cancel_futures=True)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
