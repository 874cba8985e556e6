"""A real Apache RocketMQ 5.3.3: nameserver and broker JVMs on free loopback ports.

The defaults suit tests: small mapped files, quick transaction checks, SQL92 filters on, and flow control that a busy
two-core machine does not trip.  `conf` overrides any broker.conf key.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.peers import probe
from tests.peers.jars import class_path
from tests.peers.jvm import java_command
from tests.peers.process import Process, free_port

VERSION = "5.3.3"

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


def write_properties(path: Path, values: Mapping[str, str]) -> Path:
    path.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
    return path


class ApacheNameServer:
    """`start` and `stop` may alternate; the port stays."""

    def __init__(self, directory: Path, port: int | None = None) -> None:
        self.directory = directory
        self.port = port or free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.process: Process | None = None

    def start(self) -> ApacheNameServer:
        self.directory.mkdir(parents=True, exist_ok=True)
        conf = write_properties(self.directory / "namesrv.conf", {"listenPort": str(self.port)})
        main = "org.apache.rocketmq.namesrv.NamesrvStartup"
        command = java_command(class_path(f"server-{VERSION}"), main, "-c", str(conf), home=self.directory, heap="128m")
        self.process = Process(command, self.directory / "console.log", cwd=self.directory)
        self.process.wait_until(lambda: probe.answers(self.address), f"Apache nameserver {self.address}")
        return self

    def stop(self) -> None:
        _end(self.process, kill=False)

    def kill(self) -> None:
        _end(self.process, kill=True)


class ApacheBroker:
    """`start`, `stop` and `kill` may alternate; port, configuration and store stay.

    A broker opens three ports: `port`, `port - 2` (VIP) and `port + 1` (HA).
    """

    def __init__(
        self,
        directory: Path,
        nameserver: str,
        conf: Mapping[str, str] | None = None,
        *,
        port: int | None = None,
        heap: str = "512m",
        quick: bool = True,
    ) -> None:
        self.directory = directory
        self.nameserver = nameserver
        self.port = port or free_port(-2, 1)
        self.address = f"127.0.0.1:{self.port}"
        self.store = directory / "store"
        self.conf = {**TEST_CONF, **(conf or {})}
        self.heap, self.quick = heap, quick
        self.process: Process | None = None

    @property
    def name(self) -> str:
        return self.conf["brokerName"]

    @property
    def cluster(self) -> str:
        return self.conf["brokerClusterName"]

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self) -> ApacheBroker:
        self.directory.mkdir(parents=True, exist_ok=True)
        places = {
            "brokerIP1": "127.0.0.1",
            "listenPort": str(self.port),
            "haListenPort": str(self.port + 1),
            "namesrvAddr": self.nameserver,
            "storePathRootDir": str(self.store),
            "storePathCommitLog": str(self.store / "commitlog"),
        }
        conf = write_properties(self.directory / "broker.conf", {**places, **self.conf})
        main = "org.apache.rocketmq.broker.BrokerStartup"
        libraries = class_path(f"server-{VERSION}")
        command = java_command(libraries, main, "-c", str(conf), home=self.directory, heap=self.heap, quick=self.quick)
        self.process = Process(command, self.directory / "console.log", cwd=self.directory)
        self.process.wait_until(self.is_ready, f"Apache broker {self.address}")
        return self

    def is_ready(self) -> bool:
        """It answers, and every nameserver routes to it."""
        servers = self.nameserver.split(";")
        topic = "TBW102" if self.conf["autoCreateTopicEnable"] == "true" else self.name
        return probe.answers(self.address) and all(probe.routes_to(server, self.address, topic) for server in servers)

    def stop(self) -> None:
        _end(self.process, kill=False)

    def kill(self) -> None:
        _end(self.process, kill=True)

    def restart(self) -> None:
        self.stop()
        self.start()


def _end(process: Process | None, *, kill: bool) -> None:
    if process is not None and process.running:
        process.kill() if kill else process.stop()
