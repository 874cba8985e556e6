"""Work that goes on behind the pages: how far it is, what came of it, and its end when someone cancels it.

One job of a kind runs at a time.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from sprocketmq.errors import SprocketError
from sprocketmq.logs import Events

events = Events("sprocketmq.dashboard")

_LOG_LINES = 200
_KEPT = 50

State = Literal["running", "done", "failed", "canceled"]


class JobRefused(SprocketError):
    """The job was not started."""


@dataclass
class Job:
    """One piece of work."""

    kind: str
    title: str
    #: The page that it belongs to, and what that is called.
    home: tuple[str, str] = ("/", "Overview")
    target: str = ""
    #: Who started it; None where nobody signs in.
    account: str | None = None
    name: str = field(default_factory=lambda: secrets.token_hex(6))
    started_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    ended_ms: int | None = None
    state: State = "running"
    done: float | None = None
    #: How far it is, or what came of it, in words.
    said: str = ""
    log: deque[str] = field(default_factory=lambda: deque(maxlen=_LOG_LINES))
    output: bytes = b""

    @property
    def is_running(self) -> bool:
        return self.state == "running"

    @property
    def result(self) -> Any:
        """What it told as JSON; None when it told nothing of the kind."""
        try:
            return json.loads(self.output)
        except ValueError:
            return None

    def reach(self, done: float, total: float, said: str = "") -> None:
        self.done = min(max(done / total, 0.0), 1.0)
        self.said = said

    def end(self, state: State) -> None:
        self.state, self.ended_ms = state, time.time_ns() // 1_000_000


#: What a job does; whether it did it is its answer.
Work = Callable[[Job], Awaitable[bool]]


class Jobs:
    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def of(self, *kinds: str) -> list[Job]:
        """The newest first."""
        return [job for job in reversed(self._jobs.values()) if job.kind in kinds]

    def get(self, name: str) -> Job | None:
        return self._jobs.get(name)

    def start(self, job: Job, work: Work) -> Job:
        """Raises when one of its kind is still running."""
        if any(each.kind == job.kind and each.is_running for each in self._jobs.values()):
            raise JobRefused(f"a job of this kind is still running: {job.kind}")
        self._jobs[job.name] = job
        for old in [each.name for each in self._jobs.values() if not each.is_running][:-_KEPT]:
            del self._jobs[old]
        task = self._tasks[job.name] = asyncio.ensure_future(_run(job, work))
        task.add_done_callback(lambda _done: self._ended(job))
        return job

    def _ended(self, job: Job) -> None:
        del self._tasks[job.name]
        if job.is_running:  # it was canceled before it had begun
            job.end("canceled")

    async def cancel(self, job: Job) -> None:
        """Ends when the job has; one that has ended already is as it was."""
        task = self._tasks.get(job.name)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def stop(self) -> None:
        await asyncio.gather(*(self.cancel(job) for job in list(self._jobs.values())))

    async def wait(self, job: Job) -> None:
        """Until the job has ended."""
        task = self._tasks.get(job.name)
        if task is not None:
            await asyncio.wait([task])


async def _run(job: Job, work: Work) -> None:
    try:
        job.end("done" if await work(job) else "failed")
    except asyncio.CancelledError:
        job.end("canceled")
        raise
    except Exception as error:  # noqa: BLE001
        if not isinstance(error, SprocketError):
            events.error("job failed", error, job=job.title)
        job.log.append(str(error) or type(error).__name__)
        job.end("failed")
