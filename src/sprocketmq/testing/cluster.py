"""A nameserver and a broker on a thread of their own."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
from collections.abc import Coroutine, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.config import BrokerConfig
from sprocketmq.config import from_properties, settings_of, unknown_keys
from sprocketmq.errors import ConfigError
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.nameserver.server import Nameserver
from sprocketmq.remoting.loop import loop_factory
from sprocketmq.remoting.tls import TlsConfig
from sprocketmq.store.config import StoreConfig

T = TypeVar("T")

LOOPBACK = "127.0.0.1"
#: Small files: a test's store costs little and is quickly made.
SMALL: Mapping[str, str] = {
    "mappedFileSizeCommitLog": str(16 * 1024 * 1024),
    "mappedFileSizeConsumeQueue": str(20 * 10_000),
    "maxHashSlotNum": "20000",
    "maxIndexNum": "80000",
}


def _known(conf: Mapping[str, str]) -> Mapping[str, str]:
    """A key that means nothing would leave a test without the broker that it is about."""
    tables = (BrokerConfig, StoreConfig)
    if unknown := unknown_keys(conf, *tables):
        from difflib import get_close_matches

        near = get_close_matches(unknown[0], [key for table in tables for key in settings_of(table)], 1, 0.7)
        meant = f": did you mean {near[0]}?" if near else ""
        raise ConfigError(f"{unknown[0]} is no key of a broker.conf{meant}")
    return conf


class EmbeddedCluster:
    """Runs between `start` and `stop`. `conf` overrides any key of a broker.conf.

    with EmbeddedCluster() as cluster:
        producer = Producer("tests", nameserver=cluster.nameserver)

    Without a `directory` it makes one and removes it at the end.
    """

    def __init__(self, directory: Path | None = None, conf: Mapping[str, str] | None = None) -> None:
        self._given = directory
        self._conf = {**SMALL, **_known(conf or {})}
        self._directory = directory
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._nameserver: Nameserver | None = None
        self._broker: Broker | None = None

    @property
    def nameserver(self) -> str:
        """HOST:PORT for clients."""
        assert self._nameserver is not None, "not started"
        return f"{LOOPBACK}:{self._nameserver.port}"

    @property
    def broker(self) -> str:
        assert self._broker is not None, "not started"
        return f"{LOOPBACK}:{self._broker.port}"

    @property
    def broker_name(self) -> str:
        assert self._broker is not None, "not started"
        return self._broker.name

    def start(self) -> Self:
        self._directory = self._given or Path(tempfile.mkdtemp(prefix="sprocketmq-"))
        self._loop = loop_factory()()
        self._thread = threading.Thread(target=self._loop.run_forever, name="sprocketmq cluster", daemon=True)
        self._thread.start()
        try:
            self._run(self._start(self._directory))
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop cleanly; what was acknowledged is on disk, in a directory that was given."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        try:
            self._run(self._stop())
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
            self._loop = self._thread = None
            if self._given is None and self._directory is not None:
                shutil.rmtree(self._directory, ignore_errors=True)

    def clear(self) -> None:
        """Delete every topic and group that tests have made, with messages and offsets; clients stay connected."""
        from sprocketmq.client.sync.admin import AdminClient

        with AdminClient(self.nameserver) as admin:
            for topic in admin.topics.names():
                admin.topics.delete(topic)
            for group in admin.groups.names():  # after the topics, whose waiting pulls make their groups again
                admin.groups.delete(group, clean_offsets=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def _start(self, directory: Path) -> None:
        entries = {
            **{key: value for key, value in self._conf.items() if key in settings_of(TlsConfig)},
            "bindAddress": LOOPBACK,
            "listenPort": "0",
            "kvConfigPath": str(directory / "namesrv" / "kvConfig.json"),
            "configStorePath": str(directory / "namesrv" / "namesrv.properties"),
            "metricsExporterType": "DISABLE",  # its port is one for the machine, and a test is not alone on it
        }
        nameserver = Nameserver(from_properties(NameserverConfig, entries))
        await nameserver.start()
        self._nameserver = nameserver
        await self._start_broker(self._broker_entries(directory))

    def _broker_entries(self, directory: Path) -> dict[str, str]:
        return {
            "brokerName": "broker-a",
            "bindAddress": LOOPBACK,
            "brokerIP1": LOOPBACK,
            "listenPort": "0",
            "haListenPort": "0",
            "namesrvAddr": self.nameserver,
            "storePathRootDir": str(directory / "store"),
            "brokerFastFailureEnable": "false",  # a machine that is busy with a test suite is not a broker that is
            "metricsExporterType": "DISABLE",
            **self._conf,
        }

    async def _start_broker(self, entries: Mapping[str, str]) -> None:
        broker = Broker.from_entries(entries)
        await broker.start()
        self._broker = broker

    async def _stop(self) -> None:
        broker, self._broker = self._broker, None
        if broker is not None:
            await broker.stop()
        nameserver, self._nameserver = self._nameserver, None
        if nameserver is not None:
            await nameserver.stop()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)
