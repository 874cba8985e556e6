"""A real Kafka 3.9, one KRaft node, for side-by-side measurements."""

from __future__ import annotations

import base64
import socket
import struct
import subprocess
import uuid
from pathlib import Path

from tests.peers.jars import class_path
from tests.peers.jvm import java_command
from tests.peers.process import free_port
from tests.peers.servers import Server, write_properties

_POM = "kafka-3.9"
# length, api key 18, version 0, correlation id 1, client id "probe"
_API_VERSIONS = struct.pack(">ihhih5s", 15, 18, 0, 1, 5, b"probe")


class Kafka(Server):
    """`start()` formats the log directory the first time.  Not `quick`: what is measured may be optimised."""

    def __init__(self, directory: Path, *, heap: str = "1g", partitions: int = 1) -> None:
        super().__init__(directory, free_port())
        self.controller_port = free_port()
        self.heap, self.partitions = heap, partitions

    def command(self) -> list[str]:
        conf = self._write_conf()
        if not (self.directory / "logs" / "meta.properties").exists():
            self._format(conf)
        return self._java("kafka.Kafka", str(conf))

    def is_ready(self) -> bool:
        """It answers ApiVersions."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as peer:
                peer.sendall(_API_VERSIONS)
                return len(peer.recv(4)) == 4
        except OSError:
            return False

    def _write_conf(self) -> Path:
        controller = f"127.0.0.1:{self.controller_port}"
        values = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{controller}",
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.address}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "num.partitions": str(self.partitions),
            "log.dirs": str(self.directory / "logs"),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
        }
        return write_properties(self.directory / "server.properties", values)

    def _format(self, conf: Path) -> None:
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        command = self._java("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(conf))
        subprocess.run(command, cwd=self.directory, check=True, capture_output=True)

    def _java(self, main: str, *arguments: str) -> list[str]:
        return java_command(class_path(_POM), main, *arguments, home=self.directory, heap=self.heap, quick=False)
