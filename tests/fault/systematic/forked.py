"""Work in a process of its own that has all modules, and nothing that is made once and then kept.

The process that forks does no work itself: what it has never made, each child makes for the first time.
"""

from __future__ import annotations

import os
import pickle
import signal
import traceback
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

#: Seconds of real time that only a thread which waits for ever takes.
PATIENCE = 600


class Ended(Exception):
    """The child has ended without a result."""


def in_a_fork(work: Callable[[], T]) -> T:
    """What `work` returns, by pickle. Raises when the child raised, or ended in another way."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _work_and_exit(work, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        data = answer.read()
    _pid, status = os.waitpid(child, 0)
    if not data:
        raise Ended(f"exit status {os.waitstatus_to_exitcode(status)}")
    is_result, value = pickle.loads(data)  # of our own child
    if not is_result:
        raise Ended(value)
    return value  # type: ignore[no-any-return]


def _work_and_exit(work: Callable[[], T], writing: int) -> None:
    signal.alarm(PATIENCE)
    try:
        answer: tuple[bool, object] = True, work()
    except BaseException:  # noqa: BLE001 - told to the parent
        answer = False, traceback.format_exc()
    with os.fdopen(writing, "wb") as file:
        pickle.dump(answer, file)
    os._exit(0)  # nothing of the parent's is ended twice
