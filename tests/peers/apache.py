"""A real Apache RocketMQ 5.3.3: nameserver and broker JVMs on free loopback ports."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.peers import probe
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


#: A change of its permission is one that it tells the nameservers of at once.
_UPDATE_BROKER_CONFIG, _SAME_PERMISSION = 25, b"brokerPermission=6"

#: Every second it would copy its whole timer wheel, which takes a sixth of a core while nothing happens.
_RARE = {"timerFlushIntervalMs": "60000"}


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
        self._must_register = True

    def is_ready(self) -> bool:
        """Often it registers before it has found its nameservers, and for ten seconds not again unless it is asked."""
        if super().is_ready():
            return True
        if self._must_register and probe.answers(self.address):
            probe.ask(self.address, _UPDATE_BROKER_CONFIG, body=_SAME_PERMISSION)
            self._must_register = False
        return False

    def command(self) -> list[str]:
        self._must_register = True
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
