"""Our own nameserver and broker, started as a user starts them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from tests.peers.servers import Broker, Cluster, NameServer


class SprocketNameServer(NameServer):
    #: Networks from which brokers may come; by default this machine alone.
    allow = ""

    def command(self) -> list[str]:
        allowed = ["--set", f"brokerAllowFrom={self.allow}"] if self.allow else []
        return [sys.executable, "-m", "sprocketmq", "nameserver", "--port", str(self.port), *allowed]


class SprocketBroker(Broker):
    def command(self) -> list[str]:
        conf = str(self.write_conf())
        return [sys.executable, "-m", "sprocketmq", "broker", "-c", conf, "-n", self.nameserver]


def sprocket_cluster(directory: Path, conf: Mapping[str, str] | None = None) -> Cluster:
    """Not started yet."""
    nameserver = SprocketNameServer(directory / "nameserver")
    return Cluster("sprocket", nameserver, SprocketBroker(directory / "broker", nameserver.address, conf))
