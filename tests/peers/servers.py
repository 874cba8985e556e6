"""A nameserver and a broker as processes, whoever made them; `apache` and `sprocket` say how they are started.

The defaults suit tests: small mapped files, quick transaction checks, SQL92 filters on, and flow control that a busy
two-core machine does not trip.  `conf` overrides any broker.conf key.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.peers import probe
from tests.peers.process import Process, free_port

# How much flow control, how large the files and how soon a transaction is checked do not change the protocol.
TEST_CONF: Mapping[str, str] = {
    "brokerClusterName": "DefaultCluster",
    "brokerName": "broker-a",
    "brokerId": "0",
    "brokerRole": "ASYNC_MASTER",
    "flushDiskType": "ASYNC_FLUSH",
    "autoCreateTopicEnable": "true",
    "enablePropertyFilter": "true",
    "traceTopicEnable": "true",
    "mappedFileSizeCommitLog": str(32 * 1024 * 1024),
    "mappedFileSizeConsumeQueue": str(20 * 20_000),
    "maxHashSlotNum": "50000",
    "maxIndexNum": "200000",
    "diskMaxUsedSpaceRatio": "95",
    "transactionTimeOut": "1000",
    "transactionCheckInterval": "1000",
    "waitTimeMillsInSendQueue": "10000",
    "osPageCacheBusyTimeOutMills": "10000",
}


class Server(ABC):
    """`start`, `stop` and `kill` may alternate; address, directory and configuration stay."""

    def __init__(self, directory: Path, port: int) -> None:
        self.directory, self.port = directory, port
        self.address = f"127.0.0.1:{port}"
        #: Words before the command, say for a network namespace.
        self.prefix: Sequence[str | Path] = ()
        self.process: Process | None = None

    @property
    def host(self) -> str:
        return self.address.rpartition(":")[0]

    @property
    def pid(self) -> int:
        assert self.process is not None, "not started"
        return self.process.pid

    def start(self) -> Self:
        self.directory.mkdir(parents=True, exist_ok=True)
        self.process = Process([*self.prefix, *self.command()], self.directory / "console.log", cwd=self.directory)
        try:
            self.process.wait_until(self.is_ready, f"{type(self).__name__} {self.address}")
        except BaseException:
            self.process.kill()
            raise
        return self

    def stop(self) -> None:
        """Ask it to end, and wait until it did."""
        if self.process is not None and self.process.running:
            self.process.stop()

    def kill(self) -> None:
        """`kill -9`."""
        if self.process is not None and self.process.running:
            self.process.kill()

    def restart(self) -> None:
        self.stop()
        self.start()

    @abstractmethod
    def command(self) -> Sequence[str | Path]: ...

    @abstractmethod
    def is_ready(self) -> bool: ...


class NameServer(Server):
    def __init__(self, directory: Path, port: int | None = None) -> None:
        super().__init__(directory, port or free_port())

    def is_ready(self) -> bool:
        return probe.answers(self.address)


class Broker(Server):
    """A broker opens three ports: `port`, `port - 2` (VIP) and `port + 1` (HA)."""

    def __init__(
        self, directory: Path, nameserver: str, conf: Mapping[str, str] | None = None, port: int | None = None
    ) -> None:
        super().__init__(directory, port or free_port(-2, 1))
        self.nameserver = nameserver
        self.store = directory / "store"
        self.conf = {**TEST_CONF, **(conf or {})}

    @property
    def name(self) -> str:
        return self.conf["brokerName"]

    @property
    def cluster(self) -> str:
        return self.conf["brokerClusterName"]

    def write_conf(self) -> Path:
        """The broker.conf with its places and `conf`."""
        places = {
            "brokerIP1": self.host,
            "listenPort": str(self.port),
            "haListenPort": str(self.port + 1),
            "namesrvAddr": self.nameserver,
            "storePathRootDir": str(self.store),
            "storePathCommitLog": str(self.store / "commitlog"),
        }
        return write_properties(self.directory / "broker.conf", {**places, **self.conf})

    def is_ready(self) -> bool:
        """It answers, and every nameserver routes its own topic to it."""
        servers = self.nameserver.split(";")
        return probe.answers(self.address) and all(probe.routes_to(s, self.address, self.name) for s in servers)


@dataclass(frozen=True, slots=True)
class Cluster:
    """One nameserver and one broker."""

    kind: str
    nameserver: NameServer
    broker: Broker

    @property
    def address(self) -> str:
        return self.nameserver.address

    def start(self) -> Self:
        self.nameserver.start()
        self.broker.start()
        return self

    def kill(self) -> None:
        """The end of a test: nothing in the directory is needed any more."""
        self.broker.kill()
        self.nameserver.kill()


def write_properties(path: Path, values: Mapping[str, str]) -> Path:
    path.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
    return path
