"""A broker in a process of its own, which can be killed, stopped for a while, and given a slow disk.

parent -> child     slow SECONDS        every sync of a file takes so much longer
                    stop, or the end    stop cleanly; a parent that dies takes its broker along
child -> parent     PORT                once, when it is ready
                    slow                once for each, when syncs are so slow
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

_STOP_S = 60.0


class BrokerProcess:
    """Keeps its port from its first start on, so that clients find it again."""

    def __init__(self, entries: Mapping[str, str]) -> None:
        self._entries = dict(entries)
        self._process: subprocess.Popen[str] | None = None
        self._paused = False

    @property
    def port(self) -> int:
        return int(self._entries["listenPort"])

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Returns when it is ready."""
        if self.is_running:
            return
        command = [sys.executable, "-m", "sprocketmq.testing.broker_process", json.dumps(self._entries)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        ready = self._process.stdout.readline().strip()
        if not ready.isdecimal():
            raise RuntimeError(f"the broker did not start: exit code {self._process.wait()}")
        self._entries["listenPort"] = ready

    def stop(self) -> None:
        """Cleanly: what was acknowledged is on disk, and the nameserver is told."""
        self.resume()
        self._tell("stop")
        self._end()

    def kill(self) -> None:
        """As a crash does: nothing is flushed, nobody is told."""
        if self._process is not None:
            self._process.kill()
            self._end()

    def pause(self) -> None:
        """It answers nobody, and its connections stay open."""
        self._paused = True
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._paused = False
        self._signal(signal.SIGCONT)

    def slow_disk(self, seconds: float) -> None:
        """Every sync of a file takes so much longer, from now on; 0 makes the disk quick again."""
        if self._paused:
            raise RuntimeError("a paused broker cannot be told to have a slow disk: resume it first")
        self._tell(f"slow {seconds}")
        if self._process is not None and self.is_running:
            assert self._process.stdout is not None
            self._process.stdout.readline()

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self.is_running:
            self._process.send_signal(number)

    def _tell(self, line: str) -> None:
        if self._process is not None and self.is_running:
            assert self._process.stdin is not None
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()

    def _end(self) -> None:
        process, self._process = self._process, None
        self._paused = False
        if process is None:
            return
        process.wait(_STOP_S)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


class _SlowSyncs:
    """Stands before the two calls that wait for a disk."""

    def __init__(self) -> None:
        self.seconds = 0.0
        os.fsync = self._slower(os.fsync)  # type: ignore[assignment]
        os.fdatasync = self._slower(os.fdatasync)  # type: ignore[assignment]

    def _slower(self, sync: Callable[[Any], None]) -> Callable[[Any], None]:
        def slow(descriptor: Any) -> None:
            if self.seconds > 0:
                time.sleep(self.seconds)
            sync(descriptor)

        return slow


async def _serve(entries: Mapping[str, str], syncs: _SlowSyncs) -> None:
    from sprocketmq.broker.broker import Broker

    broker = Broker.from_entries(entries)
    await broker.start()
    print(broker.port, flush=True)
    while line := (await asyncio.to_thread(sys.stdin.readline)).split():
        if line[0] == "slow":
            syncs.seconds = float(line[1])
            print("slow", flush=True)
        else:
            break
    syncs.seconds = 0.0
    await broker.stop()


if __name__ == "__main__":
    from sprocketmq.remoting.loop import run

    run(_serve(json.loads(sys.argv[1]), _SlowSyncs()))
