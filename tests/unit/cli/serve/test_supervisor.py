from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from sprocketmq.cli.serve.supervisor import Child, RestartDelay, Supervisor
from sprocketmq.errors import SprocketError

#: A child that says it is ready and waits for SIGTERM, or for the end of its supervisor.
GOOD = """
import asyncio, os
from sprocketmq.cli.serve.serving import serve
class Quiet:
    name, address = "child", str(os.getpid())
    async def start(self): pass
    async def stop(self): pass
asyncio.run(serve([Quiet()]))
"""
DEAF = "import signal, time; signal.signal(15, signal.SIG_IGN); print('x ready on x', flush=True); time.sleep(600)"
SILENT = "import time; time.sleep(600)"
NAMED = """
import os, time
from sprocketmq.cli.serve.serving import PROCESS_NAME
print("x ready on", os.environ[PROCESS_NAME], flush=True)
time.sleep(600)
"""
BROKEN = "raise SystemExit(3)"

QUICK = RestartDelay(first_pause=0.01, longest_pause=0.05, stop=60, ready=60)

Start = Callable[..., Awaitable["Run"]]


class Run:
    """A supervisor and the lines of its children, as they come."""

    def __init__(self, patience: RestartDelay, *programs: str) -> None:
        self.lines: asyncio.Queue[str] = asyncio.Queue()
        children = [Child(f"c{at}", (sys.executable, "-c", program)) for at, program in enumerate(programs)]
        self.supervisor = Supervisor(children, patience, self.lines.put_nowait)

    async def next_pid(self) -> int:
        return int((await asyncio.wait_for(self.lines.get(), 60)).rpartition(" ")[2])


@pytest_asyncio.fixture
async def start() -> AsyncIterator[Start]:
    runs: list[Run] = []

    async def begin(*programs: str, patience: RestartDelay = QUICK) -> Run:
        runs.append(run := Run(patience, *programs))
        await run.supervisor.start()
        return run

    yield begin
    for run in runs:
        await run.supervisor.stop()


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_children_are_ready_when_start_returns_and_gone_after_stop(start: Start) -> None:
    run = await start(GOOD, GOOD)
    pids = {await run.next_pid(), await run.next_pid()}
    assert pids == {run.supervisor.pid("c0"), run.supervisor.pid("c1")}
    await run.supervisor.stop()
    assert not any(map(lives, pids))
    assert run.supervisor.pid("c0") is None


async def test_a_child_knows_its_name(start: Start) -> None:
    run = await start(NAMED, NAMED)
    assert {await run.lines.get(), await run.lines.get()} == {"x ready on c0", "x ready on c1"}


async def test_a_dead_child_is_started_again(start: Start) -> None:
    run = await start(GOOD)
    first = await run.next_pid()
    os.kill(first, signal.SIGKILL)
    second = await run.next_pid()
    os.kill(second, signal.SIGKILL)
    third = await run.next_pid()
    assert len({first, second, third}) == 3
    assert lives(third)


async def test_a_child_that_cannot_be_started_now_is_started_later(
    start: Start, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As where there is no process or no descriptor left for a moment."""
    run = await start(GOOD)
    first = await run.next_pid()
    make = asyncio.create_subprocess_exec
    refusals = iter([BlockingIOError(11, "no process"), OSError(24, "no descriptor")])

    async def refused(*arguments: Any, **options: Any) -> asyncio.subprocess.Process:
        for refusal in refusals:
            raise refusal
        return await make(*arguments, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", refused)
    os.kill(first, signal.SIGKILL)
    second = await run.next_pid()
    assert lives(second)
    assert [record.getMessage() for record in caplog.records].count("process not started") == 2


async def test_a_child_that_never_was_ready_ends_the_start(start: Start) -> None:
    with pytest.raises(SprocketError, match="c1 did not start: it ended with 3"):
        await start(GOOD, BROKEN)


async def test_a_child_that_is_not_ready_in_time(start: Start) -> None:
    with pytest.raises(SprocketError, match=r"not ready within 0\.3 s: c0"):
        await start(SILENT, patience=RestartDelay(ready=0.3, stop=60))


async def test_a_child_that_does_not_listen_is_killed(start: Start) -> None:
    run = await start(DEAF, patience=RestartDelay(stop=0.1))
    pid = run.supervisor.pid("c0")
    assert pid is not None
    await run.supervisor.stop()
    assert not lives(pid)


async def test_children_end_with_their_supervisor() -> None:
    program = f"""
import asyncio, sys
from sprocketmq.cli.serve.supervisor import Child, Supervisor
async def main():
    await Supervisor([Child("c", (sys.executable, "-c", {GOOD!r}))], say=lambda line: print(line, flush=True)).start()
    await asyncio.sleep(600)
asyncio.run(main())
"""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    assert process.stdout is not None
    pid = int((await asyncio.wait_for(process.stdout.readline(), 60)).decode().rpartition(" ")[2])
    assert lives(pid)
    process.kill()
    await process.wait()
    async with asyncio.timeout(60):
        while lives(pid):  # noqa: ASYNC110 - the orphan is another process's child: only its entry in /proc tells
            await asyncio.sleep(0.02)
