"""Keeps child processes alive: starts them, waits until each is ready, starts a dead one again, stops all at the end.

A child that dies again and again is started after ever longer pauses. Children are in sessions of their own, so that a
Ctrl-C reaches the supervisor alone, and they hold one end of a pipe: when the supervisor dies, however it dies, they
see it end and stop as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import click

from sprocketmq.cli.serve.serving import PROCESS_NAME, READY, SUPERVISOR_FD
from sprocketmq.errors import SprocketError
from sprocketmq.logs import Events

events = Events("sprocketmq.cli.supervisor")


@dataclass(frozen=True, slots=True)
class Child:
    name: str
    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartDelay:
    """Seconds."""

    ready: float = 60.0
    #: A child that lived so long has proved itself: its next pause is the first one again.
    proved: float = 60.0
    first_pause: float = 0.5
    longest_pause: float = 15.0
    stop: float = 30.0


class Supervisor:
    """A service made of processes. `say` takes the lines that children write to stdout."""

    def __init__(
        self,
        children: Sequence[Child],
        patience: RestartDelay | None = None,
        say: Callable[[str], object] = click.echo,
    ) -> None:
        self._children = tuple(children)
        self._patience = patience or RestartDelay()
        self._say = say
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._ready: dict[str, asyncio.Event] = {child.name: asyncio.Event() for child in children}
        self._keepers: list[asyncio.Task[None]] = []
        self._stopping = asyncio.Event()
        self._pipe: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        return f"{len(self._children)} processes"

    @property
    def address(self) -> str:
        return ", ".join(child.name for child in self._children)

    def pid(self, name: str) -> int | None:
        """The process of child `name` that lives now."""
        process = self._processes.get(name)
        return None if process is None else process.pid

    async def start(self) -> None:
        """Start every child and wait until all are ready; one that dies or dawdles before that ends the start."""
        self._pipe = os.pipe()
        self._keepers = [asyncio.ensure_future(self._keep(child)) for child in self._children]
        try:
            async with asyncio.timeout(self._patience.ready):
                await asyncio.gather(
                    *(self._first_ready(*pair) for pair in zip(self._children, self._keepers, strict=True))
                )
        except TimeoutError:
            await self.stop()
            late = [name for name, ready in self._ready.items() if not ready.is_set()]
            raise SprocketError(f"not ready within {self._patience.ready:g} s: {', '.join(late)}") from None
        except (SprocketError, OSError):
            await self.stop()
            raise

    async def stop(self) -> None:
        """SIGTERM to all, and SIGKILL to those that do not end in time."""
        self._stopping.set()
        self._signal(signal.SIGTERM)
        _, late = await asyncio.wait(self._keepers, timeout=self._patience.stop)
        if late:
            events.error("processes killed", names=",".join(self._processes))
            self._signal(signal.SIGKILL)
            await asyncio.wait(late)
        if self._pipe is not None:
            for fd in self._pipe:
                os.close(fd)
            self._pipe = None

    def _signal(self, number: signal.Signals) -> None:
        for process in self._processes.values():
            if process.returncode is None:
                process.send_signal(number)

    async def _first_ready(self, child: Child, keeper: asyncio.Task[None]) -> None:
        ready = asyncio.ensure_future(self._ready[child.name].wait())
        try:
            await asyncio.wait({ready, keeper}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
        if keeper.done():
            keeper.result()

    async def _keep(self, child: Child) -> None:
        loop = asyncio.get_running_loop()
        pause = self._patience.first_pause
        while not self._stopping.is_set():
            began = loop.time()
            try:
                code = await self._run(child)
            except OSError as error:  # no process to be had, or no descriptor: there may be one later
                if not self._ready[child.name].is_set():
                    raise
                events.error("process not started", error, name=child.name, again_in_seconds=pause)
                await self._rest(pause)
                pause = min(pause * 2, self._patience.longest_pause)
                continue
            if self._stopping.is_set():
                return
            if not self._ready[child.name].is_set():
                raise SprocketError(f"{child.name} did not start: it ended with {code}")
            pause = self._patience.first_pause if loop.time() - began > self._patience.proved else pause
            events.warning("process died", name=child.name, code=code, restart_in_seconds=pause)
            await self._rest(pause)
            pause = min(pause * 2, self._patience.longest_pause)

    async def _rest(self, pause: float) -> None:
        """Sleep, but not into the stop."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await self._stopping.wait()

    async def _run(self, child: Child) -> int:
        """One life of a child; its exit code."""
        assert self._pipe is not None
        read_end = self._pipe[0]
        process = await asyncio.create_subprocess_exec(
            *child.argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, SUPERVISOR_FD: str(read_end), PROCESS_NAME: child.name},
            pass_fds=(read_end,),
            start_new_session=True,
        )
        self._processes[child.name] = process
        events.info("process started", name=child.name, pid=process.pid)
        if self._stopping.is_set():  # the order to stop came while the process was being made
            process.terminate()
        assert process.stdout is not None
        async for line in process.stdout:
            text = line.decode(errors="replace").rstrip("\n")
            self._say(text)
            if READY in text:
                self._ready[child.name].set()
        code = await process.wait()
        del self._processes[child.name]
        return code
