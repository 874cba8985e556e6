"""Programs that run beside the console: each is a command of ours, watched until it ends.

A job tells how far it is by lines of JSON on its stderr, `{"done": 1, "total": 2}`; everything else it writes there is
kept as its log, and what it writes to stdout is its result. One job of a kind runs at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sprocketmq.errors import SprocketError

_LOG_LINES = 200
_RESULT_BYTES = 4 * 1024 * 1024
_KEPT = 50
_STOP_S = 10.0


class JobRefused(SprocketError):
    """The job was not started."""


@dataclass
class Job:
    """One run of a command."""

    kind: str
    title: str
    argv: tuple[str, ...]
    target: str = ""
    #: Who started it; None where nobody signs in.
    account: str | None = None
    name: str = field(default_factory=lambda: secrets.token_hex(6))
    started_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    ended_ms: int | None = None
    exit_code: int | None = None
    done: float | None = None
    log: deque[str] = field(default_factory=lambda: deque(maxlen=_LOG_LINES))
    output: bytes = b""

    @property
    def is_running(self) -> bool:
        return self.ended_ms is None

    @property
    def state(self) -> str:
        return "running" if self.is_running else "done" if self.exit_code == 0 else "failed"

    @property
    def result(self) -> Any:
        """What it told as JSON; None when it told nothing of the kind."""
        try:
            return json.loads(self.output)
        except ValueError:
            return None

    def end(self, exit_code: int | None) -> None:
        self.exit_code, self.ended_ms = exit_code, time.time_ns() // 1_000_000

    def hear(self, line: str) -> None:
        """One line of its stderr."""
        try:
            told = json.loads(line) if line.startswith("{") else None
            if told is not None and told["total"] > 0:
                self.done = min(max(told["done"] / told["total"], 0.0), 1.0)
                return
        except (ValueError, TypeError, KeyError):
            pass
        if line.strip():
            self.log.append(line)


class Jobs:
    def __init__(self, runs: Path | None = None) -> None:
        self.runs = runs
        self._jobs: dict[str, Job] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def of(self, *kinds: str) -> list[Job]:
        """The newest first."""
        return [job for job in reversed(self._jobs.values()) if job.kind in kinds]

    def get(self, name: str) -> Job | None:
        return self._jobs.get(name)

    def start(
        self, kind: str, title: str, arguments: Sequence[str], target: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> Job:  # fmt: skip
        """Run `sprocket ARGUMENTS`; raises when one of its kind is still running. Secrets go by its environment."""
        if any(job.kind == kind and job.is_running for job in self._jobs.values()):
            raise JobRefused(f"a job of this kind is still running: {kind}")
        job = Job(kind, title, (sys.executable, "-m", "sprocketmq", *arguments), target)
        self._jobs[job.name] = job
        for old in [each.name for each in self._jobs.values() if not each.is_running][:-_KEPT]:
            del self._jobs[old]
        task = self._tasks[job.name] = asyncio.ensure_future(self._run(job, environment or {}))
        task.add_done_callback(lambda _done: self._tasks.pop(job.name, None))
        return job

    async def stop(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for job in self._jobs.values():
            if job.is_running:  # it was stopped before it had begun
                job.end(-1)

    async def wait(self, job: Job) -> None:
        """Until the job has ended."""
        task = self._tasks.get(job.name)
        if task is not None:
            await asyncio.shield(task)

    async def _run(self, job: Job, environment: Mapping[str, str]) -> None:
        try:
            process = await asyncio.create_subprocess_exec(
                *job.argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE, env={**os.environ, "NO_COLOR": "1", **environment},
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            job.log.append(str(error))
            job.end(127)
            return
        try:
            await asyncio.gather(_listen(process, job), _collect(process, job))
            await process.wait()
        finally:
            if process.returncode is None:
                await _end(process)
            job.end(process.returncode)


async def _listen(process: asyncio.subprocess.Process, job: Job) -> None:
    assert process.stderr is not None
    rest = b""
    while part := await process.stderr.read(65536):
        *lines, rest = (rest + part).replace(b"\r", b"\n").split(b"\n")
        for line in lines:
            job.hear(line.decode(errors="replace")[:2000])
        rest = rest[-65536:]
    job.hear(rest.decode(errors="replace")[:2000])


async def _collect(process: asyncio.subprocess.Process, job: Job) -> None:
    assert process.stdout is not None
    while part := await process.stdout.read(65536):
        job.output = (job.output + part)[:_RESULT_BYTES]


async def _end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
        try:
            async with asyncio.timeout(_STOP_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
