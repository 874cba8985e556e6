"""The nameserver process: its state, its processors, its listening socket and the search for silent brokers.

Nameservers know nothing of each other: brokers register with each of them, and clients ask any.
"""

from __future__ import annotations

import asyncio
import time

from sprocketmq.auth.wiring import Access
from sprocketmq.codes import RequestCode
from sprocketmq.logs import Events
from sprocketmq.metrics.exporter import Exporter
from sprocketmq.nameserver.admin import AdminProcessors
from sprocketmq.nameserver.audited_state import nameserver_looks
from sprocketmq.nameserver.brokers import RulerChange
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.nameserver.figures import figures
from sprocketmq.nameserver.kvconfig import KVConfig
from sprocketmq.nameserver.processors import RouteProcessors, log_gone
from sprocketmq.nameserver.routes import Clock, RouteTable
from sprocketmq.nameserver.settings import NameserverSettings
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import to_ext_fields
from sprocketmq.protocol.headers.ha import NotifyMinBrokerIdChangeRequestHeader
from sprocketmq.remoting import Connection, ProcessorTable, RemotingServer
from sprocketmq.remoting.body_limits import limit_bodies
from sprocketmq.remoting.tls import TlsService

events = Events("sprocketmq.nameserver.server")


class Nameserver:
    def __init__(self, config: NameserverConfig, *, clock: Clock = time.monotonic) -> None:
        self.settings = NameserverSettings(config)
        self.routes = RouteTable(clock)
        self.routes.on_ruler_changed = self._ruler_changed
        self.kv = KVConfig(config.kv_config_path)
        self._table = ProcessorTable()
        RouteProcessors(self.routes, self.kv, self.settings).add_to(self._table)
        AdminProcessors(self.routes, self.kv, self.settings).add_to(self._table)
        folder = config.config_store_path.parent
        self.access = Access(config, folder, "DefaultCluster", name=self.name, address=lambda: self.address)
        self.access.audit.looks |= nameserver_looks(self)
        self.access.guard(self._table)
        self._tls = TlsService.of(config)
        self._server = RemotingServer(
            self._table, config.bind_address, config.listen_port, config.limits(), self._tls.server, config.proxies()
        )
        limit_bodies(self._table, config, self._server.connections.refused)
        self._server.connections.is_exempt = config.broker_access().allows
        self.exporter = Exporter(config, lambda: figures(self.routes, self._server), self.unready)
        self._timer: asyncio.TimerHandle | None = None

    @property
    def name(self) -> str:
        return "nameserver"

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def address(self) -> str:
        return self._server.address

    def codes(self) -> frozenset[int]:
        """The requests it serves."""
        return self._table.codes()

    async def start(self) -> None:
        """Load what was kept, then listen."""
        self.kv.load()
        self.access.open()
        self.settings.load()
        await self._server.start()
        self.access.start()
        self._tls.start()
        self._scan()
        await self.exporter.start()
        events.info("nameserver started", address=self._server.address)

    async def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._tls.stop()
        await self.exporter.stop()
        self.access.stop()
        await self._server.stop()
        events.info("nameserver stopped", address=self._server.address)

    def unready(self) -> list[str]:
        """Why clients should not ask here now."""
        return [] if any(True for _ in self.routes.groups()) else ["no broker has registered"]

    def expire(self) -> None:
        """Forget silent brokers and close their connections."""
        for live in self.routes.expire():
            log_gone(live, "silent")
            if isinstance(live.session, Connection):
                live.session.close()

    def _scan(self) -> None:
        interval = self.settings.current.scan_not_active_broker_interval / 1000
        self._timer = asyncio.get_running_loop().call_later(interval, self._scan)  # whatever fails below
        self.expire()

    def _ruler_changed(self, change: RulerChange) -> None:
        if not self.settings.current.notify_min_broker_id_changed:
            return
        header = NotifyMinBrokerIdChangeRequestHeader(
            min_broker_id=change.broker_id,
            broker_name=change.group,
            min_broker_addr=change.address,
            offline_broker_addr=change.offline_address,
            ha_broker_addr=change.ha_address,
        )
        for live in change.live:
            if isinstance(live.session, Connection) and (change.offline_address or live.address != change.address):
                notice = Command(RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE, ext_fields=to_ext_fields(header))
                live.session.send(notice)
