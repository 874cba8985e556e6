"""The slave's side: finds its master, makes sure that both logs are one, and follows it.

    address known -> same log? -> connect -> report at once -> frames and reports -> [lost: after a while again]

RocketMQ's stream does not notice two logs of different content. So before it connects, a slave asks its master for the
last message that it has itself, and for the range of its log. A slave that has diverged does not follow; it says so,
and looks again. One that is behind the oldest file begins anew. What a slave under SYNC_FLUSH reports is on its disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from sprocketmq.broker.replication.log_comparison import LeftBehind, LogComparison
from sprocketmq.broker.replication.slave_stream import SlaveStream
from sprocketmq.broker.replication.slave_tables import SlaveTables
from sprocketmq.broker.roles import Roles, Standing
from sprocketmq.broker.send.durable_acks import Acks
from sprocketmq.broker.settings import Settings
from sprocketmq.errors import SprocketError
from sprocketmq.logs import Events
from sprocketmq.remoting.client import ContextSource
from sprocketmq.remoting.peer import parse_address
from sprocketmq.store.replica import Replica
from sprocketmq.store.store import MessageStore

events = Events("sprocketmq.broker.replication")

_CONNECT_SECONDS = 5.0
#: Between two attempts: short at first, for a master that restarts, and never longer than RocketMQ's.
_FIRST_REST = 0.1
_LONGEST_REST = 5.0
_TICK_SECONDS = 1.0


class Slave:
    """`trouble` is why it does not follow now, empty while it does."""

    def __init__(
        self, settings: Settings, store: MessageStore, replica: Replica, roles: Roles, log_comparison: LogComparison,
        acks: Acks, make_stream: Callable[[Callable[[], int]], SlaveStream] | None = None,
    ) -> None:  # fmt: skip
        self.stream: SlaveStream | None = None
        self.trouble = ""
        self.rate = 0
        #: The context of the broker's own calls: with `tls.enable` the log comes over TLS, too.
        self.calling: ContextSource = lambda: None
        #: Has the nameservers asked where the master is.
        self.on_lost: Callable[[], object] = lambda: None
        self._settings = settings
        self._store = store
        self._replica = replica
        self._roles = roles
        self._log_comparison = log_comparison
        self._make_stream = make_stream or (lambda reportable: SlaveStream(replica, reportable))
        self._moved = asyncio.Event()
        self._tables: SlaveTables | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._started = False
        acks.on_progress.append(self._flushed)
        roles.on_change.append(self._role_changed)

    def start(self, tables: SlaveTables) -> None:
        self._started = True
        self._tables = tables
        self._begin()

    async def stop(self) -> None:
        self._started = False
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _role_changed(self, before: Standing, now: Standing) -> None:
        if now.is_slave and before.is_slave:
            if (before.ha_address, before.epoch) != (now.ha_address, now.epoch) and self.stream is not None:
                self.stream.close("the master has moved")
            self._moved.set()
        elif now.is_slave:
            self._begin()
        else:
            if self.stream is not None:  # at once: what still comes in must not be written, nor reported
                self.stream.close("this broker is no slave any more")
            for task in self._tasks:
                task.cancel()
            self._tasks = []

    def _begin(self) -> None:
        if self._started and self._roles.current.is_slave and not self._tasks and self._tables is not None:
            self._tasks = [asyncio.ensure_future(_for_ever(work)) for work in (self._run, self._tables.run)]

    def last_times(self, now_ms: int) -> tuple[int, int]:
        """When the master was heard and told last, by the wall clock; 0 while there is no connection."""
        if self.stream is None:
            return 0, 0
        now = asyncio.get_running_loop().time()
        return now_ms - int((now - self.stream.read_at) * 1000), now_ms - int((now - self.stream.wrote_at) * 1000)

    # -- following ----------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        rest = _FIRST_REST
        while True:
            address = self._roles.current.ha_address
            if not address:
                self._tell("the master is not known")
                await self._wait(_LONGEST_REST)
                continue
            received = await self._follow(address)
            self.on_lost()  # it may be somewhere else by now
            rest = _FIRST_REST if received else min(rest * 2, _LONGEST_REST)
            await self._wait(rest)

    async def _wait(self, seconds: float) -> None:
        self._moved.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._moved.wait()
        except TimeoutError:
            return

    async def _follow(self, address: str) -> bool:
        """One connection, from its making to its end; whether anything came."""
        try:
            self._replica.drop_undispatched()
            await self._compare_logs()
            stream = await self._connect(address)
        except (SprocketError, OSError, ValueError, TimeoutError) as error:
            self._tell(str(error) or "no connection in time")
            return False
        self.stream = stream
        self.trouble = ""
        events.info("follows the master", master=address, log_end=self._replica.end_offset)
        try:
            self._tell(await self._watch(stream))
        finally:
            stream.close("this broker lets go")
            self.stream, self.rate = None, 0
        return stream.received_bytes > 0

    async def _compare_logs(self) -> None:
        standing = self._roles.current
        try:
            await self._log_comparison.check(standing.master_address)
        except LeftBehind as error:
            if self._roles.current == standing:  # else it may not be our master that was asked
                self._replica.begin_anew(str(error))

    async def _connect(self, address: str) -> SlaveStream:
        host, port = parse_address(address)
        async with asyncio.timeout(_CONNECT_SECONDS):
            _, stream = await asyncio.get_running_loop().create_connection(
                lambda: self._make_stream(self._reportable), host, port, ssl=self.calling()
            )
        return stream

    def _reportable(self) -> int:
        store, end = self._store, self._replica.end_offset
        if store.readable.confirm_offset is None:
            end = min(end, store.dispatcher.dispatched_offset)  # what cannot be dispatched is not safe here
        return min(end, store.flushed_offset) if store.config.sync_flush else end

    def _flushed(self) -> None:
        """More of the log is on disk, which a slave under SYNC_FLUSH has waited for."""
        if self.stream is not None:
            self.stream.report()

    async def _watch(self, stream: SlaveStream) -> str:
        """Nobody is silent for long; why the connection ended."""
        loop = asyncio.get_running_loop()
        received = 0
        while True:
            done, _ = await asyncio.wait([stream.closed], timeout=_TICK_SECONDS)
            if done:
                return stream.closed.result()
            config, now = self._settings.current, loop.time()
            self.rate, received = stream.received_bytes - received, stream.received_bytes
            if (now - stream.read_at) * 1000 > config.ha_housekeeping_interval:
                return f"the master is silent for {config.ha_housekeeping_interval} ms"
            if (now - stream.wrote_at) * 1000 > config.ha_send_heartbeat_interval:
                stream.report(always=True)

    def _tell(self, trouble: str) -> None:
        if trouble != self.trouble:
            events.warning("does not follow the master", master=self._roles.current.ha_address, reason=trouble)
        self.trouble = trouble


async def _for_ever(work: Callable[[], Awaitable[None]]) -> None:
    """Until cancelled: what nobody expected is told, and begun anew."""
    while True:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - the edge of the task: a slave that stands still would go unseen
            events.error("replication ended, and begins anew", error)
        await asyncio.sleep(_LONGEST_REST)
