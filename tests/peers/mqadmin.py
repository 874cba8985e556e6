"""The real mqadmin, 4.9.8 and 5.3.3, in a JVM that stays for the next command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.peers.jars import peer_class_path
from tests.peers.java_peer import JavaVersion
from tests.peers.jvm import java_command
from tests.peers.lines import LinePeer

# mqadmin 4.9.8 does not run without this file.
_LOGBACK = '<configuration><root level="OFF"/></configuration>'


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command printed and how it ended."""

    stdout: str
    stderr: str
    exit: int


class MqAdmin:
    """`run("clusterList", "-n", address)`; a command that exits its JVM gets a new one for the next."""

    def __init__(self, version: JavaVersion, directory: Path, properties: Mapping[str, str] | None = None) -> None:
        (directory / "conf").mkdir(parents=True, exist_ok=True)
        (directory / "conf" / "logback_tools.xml").write_text(_LOGBACK)
        self.version, self.directory, self._properties = version, directory, properties or {}
        self._peer: LinePeer | None = None

    def run(self, *arguments: str, timeout: float = 120) -> Ran:
        peer = self._peer = self._peer or self._start()
        result = peer.call("mqadmin", args=list(arguments), wait=timeout)
        code = result["exit"]
        if code is None:  # the command called System.exit
            code = peer.process.child.wait(60)
            self.close()
        return Ran(result["stdout"], result["stderr"], code)

    def close(self) -> None:
        if self._peer is not None:
            self._peer.close()
            self._peer = None

    def _start(self) -> LinePeer:
        properties = {"java.io.tmpdir": str(self.directory), **self._properties}  # some commands leave files there
        command = java_command(peer_class_path(self.version), "peer.Main", home=self.directory, properties=properties)
        return LinePeer(f"mqadmin {self.version}", command, self.directory)
