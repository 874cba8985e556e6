"""Child processes that never outlive the test run.

Each child leads its own process group.  One watchdog per test run knows the living groups and kills them when its
standard input ends, so that even a `kill -9` of pytest leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

_WATCHDOG = """
import os, signal, sys
alive = set()
for line in sys.stdin:
    (alive.add if line[0] == "+" else alive.discard)(int(line[1:]))
for group in alive:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass
"""


class PeerFailed(Exception):
    """A peer's process ended, or did not get ready or answer in time."""


@cache
def _watchdog() -> subprocess.Popen[str]:
    command = [sys.executable, "-S", "-E", "-c", _WATCHDOG]
    return subprocess.Popen(command, stdin=subprocess.PIPE, text=True, start_new_session=True)


def _tell_watchdog(mark: str, group: int) -> None:
    ears = _watchdog().stdin
    assert ears is not None
    ears.write(f"{mark}{group}\n")
    ears.flush()


class Process:
    """A running child; its standard output and error go to `log` unless `piped`, then only its error does."""

    def __init__(
        self,
        command: Sequence[str | Path],
        log: Path,
        *,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        piped: bool = False,
    ) -> None:
        self.log = log
        with log.open("ab") as sink:
            self.child = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
                stdout=subprocess.PIPE if piped else sink,
                stderr=sink,
                cwd=cwd,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
        _tell_watchdog("+", self.child.pid)

    @property
    def pid(self) -> int:
        return self.child.pid

    @property
    def running(self) -> bool:
        return self.child.poll() is None

    def stop(self, timeout: float = 120) -> int:
        """SIGTERM, and SIGKILL for one that does not end in time; the exit code."""
        if self.running:
            self.child.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.child.wait(timeout)
        return self.kill()

    def kill(self) -> int:
        """SIGKILL to the whole group; the exit code."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        code = self.child.wait()
        _tell_watchdog("-", self.pid)
        return code

    def wait_until(self, ready: Callable[[], bool], what: str, timeout: float = 120) -> None:
        """Ask `ready` until it says yes; a child that ends first, or lets the time pass, fails with its log's end."""
        deadline = time.monotonic() + timeout
        while not ready():
            if not self.running:
                raise PeerFailed(f"{what}: exit code {self.child.returncode}\n{self.tail()}")
            if time.monotonic() > deadline:
                raise PeerFailed(f"{what}: not ready in {timeout} s\n{self.tail()}")
            time.sleep(0.05)

    def tail(self, limit: int = 4000) -> str:
        return self.log.read_text(errors="replace")[-limit:]


def eventually(condition: Callable[[], bool], what: str, timeout: float = 120) -> None:
    """Ask `condition` until it holds; for what no event tells of."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise PeerFailed(f"{what}: not in {timeout} s")
        time.sleep(0.05)


#: Below the range from which the kernel takes ports for outgoing connections: a port that is free now stays free
#: while a slow server starts, whatever clients connect meanwhile.
_PORTS = range(20_000, 32_000)
_BLOCK = 240


class _OwnPorts:
    """Ports that no other test run takes, one after the other, so that none is given twice before a server has it.

    A block of them belongs to the process that has bound its name; the kernel takes the name back when it ends.
    """

    def __init__(self) -> None:
        self._claim = socket.socket(socket.AF_UNIX)
        self._block = self._first_unclaimed()
        self._next = self._block.start

    def _first_unclaimed(self) -> range:
        for first in range(_PORTS.start, _PORTS.stop, _BLOCK):
            with contextlib.suppress(OSError):
                self._claim.bind(f"\0sprocketmq-test-ports-{first}")
                return range(first, first + _BLOCK)
        raise PeerFailed(f"{len(_PORTS) // _BLOCK} other test runs have all ports")

    def take(self, companions: Sequence[int]) -> int:
        before, behind = -min(0, *companions), max(0, *companions)
        for _ in self._block:
            if self._next + before + behind not in self._block:
                self._next = self._block.start
            port = self._next + before
            self._next = port + behind + 1
            if all(_is_free(port + offset) for offset in companions):
                return port
        raise PeerFailed(f"no free ports in {self._block}")


_own_ports = cache(_OwnPorts)


def free_port(*companions: int) -> int:
    """A free TCP port `p` of the loopback whose companions `p + offset` are free too."""
    return _own_ports().take((0, 0, *companions))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
