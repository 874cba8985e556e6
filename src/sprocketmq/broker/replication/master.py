"""The master's side: the HA port, and what its slaves have confirmed.

The port is open whatever the role, as RocketMQ's is; only a master gives its log away, and only to this machine and to
the networks of `brokerAllowFrom`. An append wakes the links, under a synchronous role in the same turn of the loop;
those that come before the links were woken cost nothing. Nobody polls the log.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable

from sprocketmq.broker.periodic import Periodic
from sprocketmq.broker.replication.in_sync_set import InSyncSet
from sprocketmq.broker.replication.replicas import Replicas
from sprocketmq.broker.replication.slave_link import LinkOwner, SlaveLink
from sprocketmq.broker.roles import Roles, Standing
from sprocketmq.broker.send.durable_acks import Acks
from sprocketmq.broker.settings import Settings
from sprocketmq.codes import ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.logs import Events
from sprocketmq.remoting.peer import Peer
from sprocketmq.remoting.tls.service import ServerTls
from sprocketmq.remoting.tls.stream import behind_tls
from sprocketmq.store.replica import Replica
from sprocketmq.store.store import MessageStore

events = Events("sprocketmq.broker.replication")

_TICK_SECONDS = 1.0
#: Slaves of one master; a broker has a few.
MAX_SLAVES = 64
#: Where nobody waits for slaves, what comes within this time goes out together: fewer and larger frames for both sides.
_GATHER_SECONDS = 0.01
#: How long a stop waits for slaves that follow closely.
_SETTLE_SECONDS = 1.0
_SETTLE_LOOKS = 50


class Master:
    def __init__(
        self, settings: Settings, store: MessageStore, replica: Replica, acks: Acks, roles: Roles,
        in_sync: InSyncSet | None = None, make_link: Callable[[LinkOwner], SlaveLink] | None = None,
    ) -> None:  # fmt: skip
        """With an in-sync set, which is a controller's, its members confirm; else as many slaves as were asked for."""
        self.replicas: Replicas | InSyncSet = in_sync or Replicas(settings, store)
        self._make_link = make_link or (lambda owner: SlaveLink(settings, store, replica, owner))
        self.port = 0
        #: The broker's, so that slaves may come over TLS, or must.
        self.tls: ServerTls | None = None
        self._settings = settings
        self._store = store
        self._replica = replica
        self._acks = acks
        self._roles = roles
        self._server: asyncio.Server | None = None
        self._ticks = Periodic("slaves", lambda: _TICK_SECONDS, self._tick)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._last_sent: dict[SlaveLink, int] = {}
        self.rates: dict[SlaveLink, int] = {}
        #: Called when it may have changed whether there are enough copies to take messages.
        self.on_change: Callable[[], object] = lambda: None
        #: Told where in the log a slave begins.
        self.on_begin: Callable[[int], object] = lambda _offset: None
        self._waits = self._listens = False
        #: The wake-up that is under way; until then the store need not tell of appends.
        self._wakes: asyncio.Handle | None = None
        acks.on_progress.append(self._committed)
        settings.on_change.append(lambda _config: self._follow())
        roles.on_change.append(self._role_changed)

    # -- start and stop -----------------------------------------------------------------------------------------------

    async def start(self, listen_port: int) -> None:
        """Listen; `listen_port` is the broker's own."""
        self._loop = asyncio.get_running_loop()
        await self._listen(listen_port)
        self._ticks.start()
        self._follow()

    async def _listen(self, listen_port: int) -> None:
        config = self._settings.current
        asked = config.ha_listen_port or (listen_port + 1 if config.listen_port else 0)
        try:
            self._server = await self._open(asked)
        except OSError as error:
            if config.ha_listen_port or self._roles.current.synchronous or error.errno != errno.EADDRINUSE:
                raise
            events.warning("port for slaves is taken", port=asked, reason=error.strerror)
            self._server = await self._open(0)  # slaves are told which
        self.port = self._server.sockets[0].getsockname()[1]

    async def _open(self, port: int) -> asyncio.Server:
        return await asyncio.get_running_loop().create_server(
            behind_tls(lambda: self._make_link(self), self.tls, self._refusal),
            self._settings.current.bind_address,
            port,
            reuse_address=True,
        )

    async def stop(self) -> None:
        """What is written goes to the slaves first, as far as they take it quickly."""
        if self._server is not None:
            self._server.close()
            self._server = None
        await self._settle()
        self._ticks.stop()
        self._loop = None
        self._listen_to_appends()
        if self._wakes is not None:
            self._wakes.cancel()
        self.drop("this broker stops")

    async def _settle(self) -> None:
        self._give()
        for _ in range(_SETTLE_LOOKS):
            end = self._store.log.max_offset
            if all(link.ack >= end for link in self.replicas.in_sync()):
                return
            await asyncio.sleep(_SETTLE_SECONDS / _SETTLE_LOOKS)

    def drop(self, reason: str) -> None:
        """Have every slave connect again, or look for another master."""
        for link in list(self.replicas.links):
            link.close(reason)

    # -- roles --------------------------------------------------------------------------------------------------------

    def _role_changed(self, before: Standing, now: Standing) -> None:
        if before.role is not now.role:
            self.drop(f"this broker is {now.role.value} now")
        self._follow()

    def _follow(self) -> None:
        """Wait for slaves, be woken by appends, or neither: as role, settings and slaves ask for."""
        standing = self._roles.current
        self._waits = waits = standing.is_master and standing.synchronous and self.replicas.needed > 0
        self._acks.wait_for(self.replicas if waits else None)
        self._listens = standing.is_master and (waits or bool(self.replicas.links))
        self._listen_to_appends()
        if waits and self.replicas.count():
            self._acks.progress()
        self.on_change()

    def recount(self) -> None:
        """The set of those who confirm may be another one."""
        if self.replicas.count():
            self._acks.progress()
        self.on_change()

    def check_copies(self) -> None:
        """Refuse a send that a synchronous master could not make safe, before anything is stored."""
        least = self._settings.current.min_in_sync_replicas
        if self._waits and least > 1 and 1 + len(self.replicas.in_sync()) < least:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, "in-sync replicas not enough")

    # -- what slaves do -----------------------------------------------------------------------------------------------

    def admit(self, link: SlaveLink) -> str | None:
        refusal = self._refusal(link.peer)
        if refusal is None:
            self._make_room()
            self.replicas.links.append(link)
            self._follow()
        return refusal

    def _make_room(self) -> None:
        """Who only connects keeps no slave away: where it is full, the oldest that has reported nothing goes."""
        if len(self.replicas.links) >= MAX_SLAVES:
            silent = next(link for link in self.replicas.links if link.ack < 0)
            silent.close("it has reported nothing, and another comes")
            self.closed(silent)

    def _refusal(self, peer: Peer) -> str | None:
        if not self._roles.current.is_master:
            return "this broker is no master"
        if not self._settings.current.broker_access().allows(peer):
            return "it is not among brokerAllowFrom"
        if sum(link.ack >= 0 for link in self.replicas.links) >= MAX_SLAVES:
            return f"{MAX_SLAVES} slaves are connected"
        return None

    def reported(self, link: SlaveLink) -> None:
        if link.ack == link.began:
            self.on_change()
            self.replicas.came(link)
            self.on_begin(link.ack)
        if self.replicas.count() and self._waits:
            self._acks.progress()

    def closed(self, link: SlaveLink) -> None:
        if link in self.replicas.links:
            self.replicas.links.remove(link)
            self._last_sent.pop(link, None)
            self.rates.pop(link, None)
            events.info("slave gone", slave=link.peer, ack=link.ack)
            self.replicas.closed(link)
            self._follow()
            self._acks.progress()  # with too few left, those who wait are told

    # -- the log grows ------------------------------------------------------------------------------------------------

    def _listen_to_appends(self) -> None:
        awaited = self._listens and self._loop is not None and self._wakes is None
        self._store.when_appended(self._appended if awaited else None)

    def _appended(self) -> None:
        assert self._loop is not None
        if self._waits:
            self._wakes = self._loop.call_soon(self._wake)
        else:
            self._wakes = self._loop.call_later(_GATHER_SECONDS, self._wake)
        self._listen_to_appends()

    def _wake(self) -> None:
        self._wakes = None
        self._listen_to_appends()
        self._give()
        if self._waits and not self.replicas.available:
            self._acks.progress()

    def _give(self) -> None:
        for link in list(self.replicas.links):
            link.give()

    def _committed(self) -> None:
        """With a transient buffer the log can be given when it is in its files."""
        if self._store.config.transient_buffer:
            self._give()

    def _tick(self) -> None:
        assert self._loop is not None
        now = self._loop.time()
        for link in list(self.replicas.links):
            self.rates[link] = link.sent_bytes - self._last_sent.get(link, 0)
            self._last_sent[link] = link.sent_bytes
            link.tick(now)
