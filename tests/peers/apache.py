"""A real Apache RocketMQ 5.3.3: nameserver and broker JVMs on free loopback ports."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.peers.jars import class_path
from tests.peers.jvm import java_command
from tests.peers.servers import Broker, Cluster, NameServer, write_properties

VERSION = "5.3.3"


class ApacheNameServer(NameServer):
    """`properties` are those of the JVM: RocketMQ's TLS is set by them."""

    def __init__(
        self, directory: Path, port: int | None = None, *, properties: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(directory, port)
        self.properties = properties

    def command(self) -> list[str]:
        conf = write_properties(self.directory / "namesrv.conf", {"listenPort": str(self.port)})
        main = "org.apache.rocketmq.namesrv.NamesrvStartup"
        return java_command(
            class_path(f"server-{VERSION}"), main, "-c", str(conf), home=self.directory, heap="128m",
            properties=self.properties,
        )  # fmt: skip


#: Every second it would copy its whole timer wheel, which takes a sixth of a core while nothing happens.
_RARE = {"timerFlushIntervalMs": "5000"}


class ApacheBroker(Broker):
    """A clean `stop` takes it some 17 s.  `quick=False` lets the JVM optimise, for measurements.

    `version` may be 4.9.7 as well, the last of its line whose servers Maven has.
    """

    def __init__(
        self,
        directory: Path,
        nameserver: str,
        conf: Mapping[str, str] | None = None,
        port: int | None = None,
        *,
        heap: str = "512m",
        quick: bool = True,
        properties: Mapping[str, str] | None = None,
        version: str = VERSION,
    ) -> None:
        super().__init__(directory, nameserver, {**(_RARE if quick else {}), **(conf or {})}, port)
        self.version = version
        self.heap, self.quick, self.properties = heap, quick, properties

    def command(self) -> list[str]:
        main = "org.apache.rocketmq.broker.BrokerStartup"
        arguments = ["-c", str(self.write_conf())]
        if self.version.startswith("4."):  # which does not start without
            (self.directory / "conf").mkdir(exist_ok=True)
            (self.directory / "conf" / "logback_broker.xml").write_text("<configuration/>")
        libraries = class_path(f"server-{self.version}")
        return java_command(
            libraries, main, *arguments, home=self.directory, heap=self.heap, quick=self.quick,
            properties=self.properties,
        )  # fmt: skip


def apache_cluster(directory: Path, conf: Mapping[str, str] | None = None) -> Cluster:
    """Not started yet."""
    nameserver = ApacheNameServer(directory / "nameserver")
    return Cluster("apache", nameserver, ApacheBroker(directory / "broker", nameserver.address, conf))
