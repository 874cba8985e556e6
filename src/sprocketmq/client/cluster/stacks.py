"""Where the threads and tasks of this process are, as text: for an operator who asks what a consumer is doing.

Lines of code and their places, as in a traceback; no values, which may be secrets.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from collections.abc import Iterator


def stacks() -> str:
    """Called on the event loop of a client: tasks are those of this loop, threads all of the process."""
    return "\n".join([*_threads(), *_tasks()])


def _threads() -> Iterator[str]:
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():
        yield f"Thread {names.get(ident, ident)}\n{''.join(traceback.format_stack(frame))}"


def _tasks() -> Iterator[str]:
    for task in sorted(asyncio.all_tasks(), key=asyncio.Task.get_name):
        frames = [(frame, frame.f_lineno) for frame in task.get_stack()]
        yield f"Task {task.get_name()}\n{''.join(traceback.StackSummary.extract(iter(frames)).format())}"
