"""An event loop whose time a test moves, and whose sockets are in memory.

Time stands still while there is anything to do, and moves only by `advance`: from timer to timer, each at its own
moment. A connection is two transports that hand each other their writes; both ends have fixed names. So a server that
takes its time and its sockets from its loop does the same thing in every run.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
Name = tuple[str, int]

#: So many turns without a rest are a loop that never rests; so many seconds for a thread are a hang.
_MAX_TURNS = 100_000
_HANG_SECONDS = 60.0


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._now = 1000.0
        self.listening: dict[int, Callable[[], asyncio.BaseProtocol]] = {}
        self._next_port = 40_001
        super().__init__()

    def time(self) -> float:
        return self._now

    # -- time

    def settle(self) -> None:
        """Run until nothing is left to do at this moment."""
        for _ in range(_MAX_TURNS):
            if not self._ready:  # type: ignore[attr-defined]
                return
            self._turn()
        raise AssertionError("the loop never rests")

    def advance(self, seconds: float) -> None:
        end = self._now + seconds
        self.settle()
        while (due := self._next_timer()) is not None and due <= end:
            self._move_to(due)
        self._move_to(end)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`; what it waits for comes at its time, without a wait."""
        task = self.create_task(work)
        self.settle()
        while not task.done():
            due = self._next_timer()
            assert due is not None, "it waits for something that never comes"
            self._move_to(due)
        return task.result()

    def wait_for_threads(self, is_done: Callable[[], bool]) -> None:
        """Let threads work, in real time, until what they bring is there."""
        limit = time.monotonic() + _HANG_SECONDS
        while not is_done():
            assert time.monotonic() < limit, "a thread does not come to its end"
            time.sleep(0.0005)
            self.settle()

    def _next_timer(self) -> float | None:
        timers: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]
        return min((timer.when() for timer in timers if not timer.cancelled()), default=None)

    def _move_to(self, moment: float) -> None:
        self._now = max(self._now, moment)
        self._turn()
        self.settle()

    def _turn(self) -> None:
        self.call_soon(self.stop)
        self.run_forever()

    # -- connections

    async def create_server(self, protocol_factory: Any, host: Any = None, port: Any = None, **_options: Any) -> Any:
        self.listening[port] = protocol_factory
        return MemoryServer(self, (host, port))

    async def create_connection(
        self, protocol_factory: Any, host: Any = None, port: Any = None, **_options: Any
    ) -> Any:
        self._next_port += 1
        return self.join(protocol_factory, ("127.0.0.1", self._next_port - 1), (host, port))

    def join(
        self, make_protocol: Callable[[], asyncio.BaseProtocol], own: Name, server: Name
    ) -> tuple[MemoryTransport, asyncio.BaseProtocol]:
        """A connection from `own` to a server; called on the loop."""
        accept = self.listening.get(server[1])
        if accept is None:
            raise ConnectionRefusedError(111, f"Connect call failed {server}")
        near, far = MemoryTransport(self, own, server), MemoryTransport(self, server, own)
        near.other, far.other = far, near
        far.begin(accept())
        near.begin(make_protocol())
        return near, near.protocol


class MemoryServer:
    def __init__(self, loop: VirtualLoop, name: Name) -> None:
        self._loop = loop
        self._name = name
        self.sockets = (self,)

    def getsockname(self) -> Name:
        return self._name

    def close(self) -> None:
        self._loop.listening.pop(self._name[1], None)


class MemoryTransport(asyncio.Transport):
    """One end of a connection; `other` is the other one."""

    other: MemoryTransport
    protocol: Any

    def __init__(self, loop: VirtualLoop, own: Name, peer: Name) -> None:
        super().__init__({"sockname": own, "peername": peer})
        self._loop = loop
        self._closing = False
        self._paused = False
        self._held: list[bytes] = []

    def begin(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol
        protocol.connection_made(self)

    def write(self, data: Any) -> None:
        if not self._closing:
            self._loop.call_soon(self.other.receive, bytes(data))

    def receive(self, data: bytes) -> None:
        if self._paused:
            self._held.append(data)
        elif not self._closing:
            self.protocol.data_received(data)

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._loop.call_soon(self.protocol.connection_lost, None)
            self._loop.call_soon(self.other.close)

    def abort(self) -> None:
        self.close()

    def is_closing(self) -> bool:
        return self._closing

    def pause_reading(self) -> None:
        self._paused = True

    def resume_reading(self) -> None:
        self._paused = False
        held, self._held = self._held, []
        for data in held:
            self.receive(data)

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass
