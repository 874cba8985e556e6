"""Who is around a broker besides its users: a nameserver, a slave, somebody who scrapes its metrics.

They live in its process and its time, on disks of their own, so that what the broker does for them is seen at work.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from tests.fault.campaign.world import World
from tests.fault.disk import SimDisk
from tests.peers.process import free_port

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.config import BrokerConfig
from sprocketmq.config import from_properties
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.nameserver.server import Nameserver
from sprocketmq.remoting.config import MetricsExporter
from sprocketmq.store.config import StoreConfig


class Neighbours:
    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._port = free_port()
        self._nameserver: Nameserver | None = None
        self._slave: Broker | None = None
        #: Metrics that were scraped, and the brokers that have registered.
        self.pages = 0
        self.registered: set[str] = set()

    @property
    def settings(self) -> dict[str, str]:
        """What a broker must know of them."""
        return {
            "namesrvAddr": f"127.0.0.1:{self._port}", "metricsExporterType": "PROM", "metricsPromExporterPort": "0",
            "metricsPromExporterHost": "127.0.0.1",
        }  # fmt: skip

    async def start(self) -> None:
        folder = Path(self._folder.name)
        config = NameserverConfig(
            bind_address="127.0.0.1", listen_port=self._port, kv_config_path=folder / "kv.json",
            config_store_path=folder / "namesrv.properties", metrics_exporter_type=MetricsExporter.DISABLE,
        )  # fmt: skip
        self._nameserver = Nameserver(config)
        await self._nameserver.start()

    async def follow(self, world: World) -> None:
        """A slave joins, once."""
        if self._slave is None:
            disk = SimDisk(Path("/slave"))
            entries = {**world.settings, "storePathRootDir": str(disk.root), "brokerRole": "SLAVE", "brokerId": "1"}
            self._slave = Broker(
                from_properties(BrokerConfig, entries), StoreConfig.from_properties(entries), files=disk,
                clock=world.clock,
            )  # fmt: skip
            await world.until(self._slave.start())
        assert self._nameserver is not None
        self.registered |= {group.name for group in self._nameserver.routes.groups()}

    @property
    def copied(self) -> int:
        """How much of the log the slave has."""
        return 0 if self._slave is None else self._slave.store.log.max_offset

    async def scrape(self, world: World) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", world.broker.exporter.port)
        try:
            writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
            self.pages += b"rocketmq_" in await reader.read()
        except ConnectionError:
            pass  # a page that cannot be made ends its connection
        finally:
            writer.close()

    async def close(self, world: World) -> None:
        if self._slave is not None:
            await world.until(self._slave.stop())
        if self._nameserver is not None:
            await world.until(self._nameserver.stop())
        self._folder.cleanup()
