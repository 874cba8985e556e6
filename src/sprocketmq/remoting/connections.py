"""All connections of one server or client: their number is bounded, and one scan finds those that wait too long.

What they hold together is bounded as well, see `HeldBytes`. When it is too much, those go that hold the most: of
unfinished frames first the strangers', of unread answers those whose peers do not read. So much is taken back at once
that the next look is far away.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from sprocketmq.remoting.costs import Costs
from sprocketmq.remoting.limits import Limits
from sprocketmq.remoting.memory_limit import fitting
from sprocketmq.remoting.peer import Peer
from sprocketmq.remoting.traffic import HeldBytes

if TYPE_CHECKING:
    from sprocketmq.remoting.connection import Connection

#: A server's own files, besides those of its store: sockets, logs, what is being written.
_OWN_FILES = 64


class ConnectionRegistry:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.capacity = limits.max_connections
        #: Who may have as many as he likes, besides this machine.
        self.is_exempt: Callable[[Peer], bool] = lambda _peer: False
        #: How often each limit was met, for the figures.
        self.refused: Counter[str] = Counter()
        self.costs = Costs(limits.costly_part)
        self.held = HeldBytes(limits.max_unfinished_bytes, limits.max_unread_bytes, self._make_room, self.costs)
        self._connections: set[Connection] = set()
        self._by_host: Counter[str] = Counter()
        #: Connections of proxies that have not said yet whom they bring.
        self.unnamed = 0
        self._making_room = False
        self._changed = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._connections)

    def __iter__(self) -> Iterator[Connection]:
        return iter(tuple(self._connections))

    def add(self, connection: Connection) -> str | None:
        """None, or why there may not be one more."""
        reason = None if connection.is_caller else self._refusal(connection.peer)
        if reason is None:
            self._connections.add(connection)
            self._by_host[connection.peer.host] += 1
        return reason

    def _refusal(self, peer: Peer) -> str | None:
        kept = 0 if peer.is_local else min(self.limits.local_connections, self.capacity // 4)
        if len(self._connections) + self.unnamed >= self.capacity - kept:
            self.refused["connections"] += 1
            return f"more than {self.capacity - kept} connections"
        most = self.limits.max_connections_per_address
        if self._by_host[peer.host] >= most and not peer.is_local and not self.is_exempt(peer):
            self.refused["connections of an address"] += 1
            return f"more than {most} connections of one address"
        return None

    def has_room_for_unnamed(self) -> bool:
        """They may have a quarter of the places, so that those who are named find one."""
        room = self.unnamed < self.capacity // 4 and len(self._connections) + self.unnamed < self.capacity
        if not room:
            self.refused["connections"] += 1
        return room

    def discard(self, connection: Connection) -> None:
        if connection in self._connections:
            self._connections.discard(connection)
            self._by_host[connection.peer.host] -= 1
            if not self._by_host[connection.peer.host]:
                del self._by_host[connection.peer.host]
        self.notice()

    def notice(self) -> None:
        """Something that `close` may wait for has happened."""
        self._changed.set()

    # -- what they hold ------------------------------------------------------------------------------------------------

    def _make_room(self) -> None:
        if self._making_room:  # what is dropped counts itself out
            return
        self._making_room = True
        try:
            self._drop_unfinished()
            self._drop_unread()
        finally:
            self._making_room = False

    def _drop_unfinished(self) -> None:
        held = self.held
        if held.strange > held.max_strange:
            strangers = [each for each in self._connections if each.unfinished and not each.is_known]
            self._drop_largest(strangers, lambda: held.strange <= held.max_strange * 7 // 8)
        if held.unfinished > held.max_unfinished:
            begun = [each for each in self._connections if each.unfinished]
            self._drop_largest(begun, lambda: held.unfinished <= held.max_unfinished * 7 // 8)

    def _drop_largest(self, connections: list[Connection], is_enough: Callable[[], bool]) -> None:
        for connection in sorted(connections, key=lambda each: each.unfinished, reverse=True):
            if is_enough():
                return
            self.refused["unfinished frames"] += 1
            connection.drop("the frames that are not whole take too much, and its one is the largest")

    def _drop_unread(self) -> None:
        held = self.held
        if held.unread <= held.max_unread:
            return
        unread = {connection: connection.recount() for connection in self._connections}
        for connection in sorted(unread, key=lambda each: unread[each], reverse=True):
            if held.unread <= held.max_unread * 7 // 8:
                return
            self.refused["unread answers"] += 1
            connection.drop("the answers that nobody reads take too much, and it has the most of them")

    # -- what the process has ------------------------------------------------------------------------------------------

    def fit_to_process(self, others: int | None = None) -> None:
        """Take no more than the process has: of files, what `others` do not need; of memory, a part.

        A failing accept helps nobody, and a store that cannot open a file even less. Without `others` a quarter is left
        to them. For servers, which need a Unix; clients do without the module.
        """
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY:
            left = soft * 3 // 4 if others is None else max(soft - others - _OWN_FILES, soft // 8)
            self.capacity = min(self.limits.max_connections, left)
        held = self.held
        held.max_unfinished = fitting(self.limits.max_unfinished_bytes, 8)
        held.max_strange = held.max_unfinished // 4
        held.max_unread = fitting(self.limits.max_unread_bytes, 4)

    # -- the scan ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to scan."""
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self.limits.scan_seconds, self.start)  # first: one that fails is not the last
        self.scan(loop.time())

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def scan(self, now: float) -> None:
        for connection in tuple(self._connections):
            connection.expire(now)

    async def close(self, grace: float) -> None:
        """Answer what is in flight, then close every connection; what is not done after `grace` seconds is dropped."""
        deadline = asyncio.get_running_loop().time() + grace
        for connection in self:
            connection.drain()
        await self._until(deadline, lambda: all(connection.is_settled for connection in self._connections))
        for connection in self:
            connection.close()
        await self._until(deadline, lambda: not self._connections)
        for connection in self:
            connection.abort("shutdown")
        await self._until(deadline + 1, lambda: not self._connections)

    async def _until(self, deadline: float, is_done: Callable[[], bool]) -> None:
        while not is_done():
            self._changed.clear()
            try:
                async with asyncio.timeout_at(deadline):
                    await self._changed.wait()
            except TimeoutError:
                return
