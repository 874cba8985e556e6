"""etcd as a peer: three members on loopback, from the `etcd` on the path (scripts/setup-tools)."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.peers.process import free_port

from sprocketmq.certificates import PemFiles

MEMBERS = 3


class EtcdCluster:
    """`shown` is the certificate of members that speak TLS to controllers."""

    def __init__(self, folder: Path, members: int = MEMBERS, shown: PemFiles | None = None) -> None:
        self._folder = folder
        self._shown = shown
        ports = [free_port() for _ in range(2 * members)]
        scheme = "http" if shown is None else "https"
        self.endpoints = [f"{scheme}://127.0.0.1:{port}" for port in ports[:members]]
        self._peers = [f"http://127.0.0.1:{port}" for port in ports[members:]]
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, *members: int) -> None:
        for at in members or range(len(self.endpoints)):
            cluster = ",".join(f"m{n}={peer}" for n, peer in enumerate(self._peers))
            options = {
                "name": f"m{at}", "data-dir": str(self._folder / f"m{at}"), "listen-client-urls": self.endpoints[at],
                "advertise-client-urls": self.endpoints[at], "listen-peer-urls": self._peers[at],
                "initial-advertise-peer-urls": self._peers[at], "initial-cluster": cluster,
                "heartbeat-interval": "100", "election-timeout": "1000", "log-level": "error",
            }  # fmt: skip
            if self._shown is not None:
                options |= {"cert-file": str(self._shown.cert), "key-file": str(self._shown.key)}
            argv = ["etcd", *(part for key, value in options.items() for part in (f"--{key}", value))]
            with (self._folder / f"m{at}.log").open("ab") as log:
                self._processes[at] = subprocess.Popen(argv, stdout=log, stderr=log)

    def kill(self, *members: int, number: signal.Signals = signal.SIGKILL) -> None:
        for at in members or tuple(self._processes):
            process = self._processes.pop(at)
            process.send_signal(number)
            process.wait()


def require_etcd() -> None:
    if shutil.which("etcd") is None:
        pytest.skip("THE ETCD ENGINE IS NOT TESTED: there is no etcd here (Debian: apt-get install etcd-server)")


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[EtcdCluster]:
    """Three members that run."""
    require_etcd()
    cluster = EtcdCluster(tmp_path)
    cluster.start()
    yield cluster
    cluster.kill()
