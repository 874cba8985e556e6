"""Jobs that are commands of ours: each is a process of its own, watched until it ends.

It tells how far it is by lines of JSON on its stderr, `{"done": 1, "total": 2}`; everything else it writes there is
kept as its log, and what it writes to stdout is its result.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sprocketmq.dashboard.jobs.job import Job

_RESULT_BYTES = 4 * 1024 * 1024
_STOP_S = 10.0


@dataclass(frozen=True, slots=True)
class CommandJob:
    """The work `sprocket ARGUMENTS`. Secrets go by its environment: others of the machine see its command line."""

    arguments: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    async def __call__(self, job: Job) -> bool:
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "sprocketmq", *self.arguments, stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
                env={**os.environ, "NO_COLOR": "1", **self.environment}, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            job.log.append(str(error))
            return False
        try:
            await asyncio.gather(_listen(process, job), _collect(process, job))
            return await process.wait() == 0
        finally:
            if process.returncode is None:
                await _end(process)


def hear(job: Job, line: str) -> None:
    """One line of its stderr."""
    try:
        told = json.loads(line) if line.startswith("{") else None
        if told is not None and told["total"] > 0:
            job.reach(told["done"], told["total"])
            return
    except (ValueError, TypeError, KeyError):
        pass
    if line.strip():
        job.log.append(line)


async def _listen(process: asyncio.subprocess.Process, job: Job) -> None:
    assert process.stderr is not None
    rest = b""
    while part := await process.stderr.read(65536):
        *lines, rest = (rest + part).replace(b"\r", b"\n").split(b"\n")
        for line in lines:
            hear(job, line.decode(errors="replace")[:2000])
        rest = rest[-65536:]
    hear(job, rest.decode(errors="replace")[:2000])


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
