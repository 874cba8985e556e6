"""Controllers as processes, Apache's with one member of its Raft group, and what brokers are told of them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from tests.peers import probe
from tests.peers.apache import VERSION
from tests.peers.jars import class_path
from tests.peers.jvm import java_command
from tests.peers.process import free_port
from tests.peers.servers import Server, write_properties


class ApacheController(Server):
    def __init__(self, directory: Path, conf: Mapping[str, str] | None = None, port: int | None = None) -> None:
        super().__init__(directory, port or free_port())
        self.conf = dict(conf or {})

    def command(self) -> list[str]:
        places = {
            "controllerDLegerGroup": "group1",
            "controllerDLegerPeers": f"n0-{self.address}",
            "controllerDLegerSelfId": "n0",
            "controllerStorePath": str(self.directory / "state"),
            "mappedFileSize": str(1 << 24),
        }
        conf = write_properties(self.directory / "controller.conf", {**places, **self.conf})
        main = "org.apache.rocketmq.controller.ControllerStartup"
        return java_command(class_path(f"server-{VERSION}"), main, "-c", str(conf), home=self.directory, heap="128m")

    def is_ready(self) -> bool:
        return probe.leads(self.address)


class SprocketController(Server):
    def __init__(self, directory: Path, conf: Mapping[str, str] | None = None, port: int | None = None) -> None:
        super().__init__(directory, port or free_port())
        self.conf = {"metricsPromExporterPort": "0", **(conf or {})}

    def command(self) -> list[str]:
        places = ["--host", self.host, "--port", str(self.port), "--data", str(self.directory / "state")]
        given = [word for key, value in self.conf.items() for word in ("--set", f"{key}={value}")]
        return [sys.executable, "-m", "sprocketmq", "controller", *places, *given]

    def is_ready(self) -> bool:
        return probe.leads(self.address)


def under(controller: str) -> dict[str, str]:
    """What a broker.conf has for a broker under that controller."""
    return {
        "enableControllerMode": "true",
        "controllerAddr": controller,
        "brokerId": "-1",
        "brokerRole": "SLAVE",
        "allAckInSyncStateSet": "true",
        "brokerName": "set-a",
        "traceTopicEnable": "false",
    }
