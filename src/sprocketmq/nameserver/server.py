"""The nameserver process: its state, its processors, its listening socket and the search for silent brokers.

Nameservers know nothing of each other: brokers register with each of them, and clients ask any.
"""

from __future__ import annotations

import asyncio
import ssl as tls
import time

from sprocketmq.codes import RequestCode
from sprocketmq.logs import Events
from sprocketmq.nameserver.admin import AdminProcessors
from sprocketmq.nameserver.brokers import RulerChange
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.nameserver.kvconfig import KVConfig
from sprocketmq.nameserver.processors import RouteProcessors, log_gone
from sprocketmq.nameserver.routes import Clock, RouteTable
from sprocketmq.nameserver.settings import NameserverSettings
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import to_ext_fields
from sprocketmq.protocol.headers.ha import NotifyMinBrokerIdChangeRequestHeader
from sprocketmq.remoting import Connection, ProcessorTable, RemotingServer

events = Events("sprocketmq.nameserver.server")


class Nameserver:
    def __init__(
        self, config: NameserverConfig, *, clock: Clock = time.monotonic, ssl: tls.SSLContext | None = None
    ) -> None:
        self.settings = NameserverSettings(config)
        self.routes = RouteTable(clock)
        self.routes.on_ruler_changed = self._ruler_changed
        self.kv = KVConfig(config.kv_config_path)
        self._table = ProcessorTable()
        RouteProcessors(self.routes, self.kv, self.settings).add_to(self._table)
        AdminProcessors(self.routes, self.kv, self.settings).add_to(self._table, config.access())
        self._server = RemotingServer(self._table, config.bind_address, config.listen_port, config.limits(), ssl)
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
        self.settings.load()
        await self._server.start()
        self._scan()
        events.info("nameserver started", address=self._server.address)

    async def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        await self._server.stop()
        events.info("nameserver stopped", address=self._server.address)

    def expire(self) -> None:
        """Forget silent brokers and close their connections."""
        for live in self.routes.expire():
            log_gone(live, "silent")
            if isinstance(live.session, Connection):
                live.session.close()

    def _scan(self) -> None:
        self.expire()
        interval = self.settings.current.scan_not_active_broker_interval / 1000
        self._timer = asyncio.get_running_loop().call_later(interval, self._scan)

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
