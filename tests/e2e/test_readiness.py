"""/health and /ready of servers as processes: what a supervisor and a load balancer are told, and when it changes."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.e2e.cli.commands import sprocket
from tests.e2e.processes import Sprocket, running
from tests.peers.patience import PATIENT_S
from tests.peers.process import eventually, free_port

pytestmark = pytest.mark.timeout(600)


class Servers:
    """Each has a port for its pages that the test chose."""

    def __init__(self, folder: Path, processes: ExitStack) -> None:
        names = ("nameserver", "controller", "broker", "replication", "replica", "replica's replication")
        self._ports = {name: free_port() for name in names}
        self.pages = {name: free_port() for name in names}
        self._folder, self._processes = folder, processes

    def nameserver(self) -> Sprocket:
        return self._run("nameserver", "nameserver", f"--data={self._folder / 'names'}")

    def controller(self) -> Sprocket:
        kept = f"--set=controllerStorePath={self._folder / 'controller'}"
        return self._run("controller", "controller", "--set=controllerEngine=file", kept)

    def broker(self) -> Sprocket:
        return self._broker("broker", "replication")

    def replica(self) -> Sprocket:
        return self._broker("replica", "replica's replication")

    def in_sync(self) -> int:
        """How many brokers are, as the controller says."""
        where = f"127.0.0.1:{self._ports['nameserver']}"
        controller = f"--controller=127.0.0.1:{self._ports['controller']}"
        done = sprocket(where, "replica", "status", controller, "--json")
        return sum(row["in_sync"] for row in json.loads(done.stdout)) if done.returncode == 0 else 0

    def _broker(self, which: str, replication: str) -> Sprocket:
        return self._run(
            which, "broker-a", "--set=brokerName=broker-a", f"--nameserver=127.0.0.1:{self._ports['nameserver']}",
            f"--data={self._folder / which}", "--set=brokerIP1=127.0.0.1", "--set=enableControllerMode=true",
            f"--set=controllerAddr=127.0.0.1:{self._ports['controller']}",
            f"--set=haListenPort={self._ports[replication]}",
        )  # fmt: skip

    def _run(self, which: str, name: str, *options: str) -> Sprocket:
        ports = (f"--port={self._ports[which]}", f"--set=metricsPromExporterPort={self.pages[which]}")
        kind = "broker" if which == "replica" else which
        return self._processes.enter_context(running(kind, *ports, *options)).ready(name)

    def why_not(self, kind: str) -> list[str]:
        """What /ready says, nothing when it is ready; the process answers in any case."""
        assert self._get(kind, "/health")[0] == 200
        status, text = self._get(kind, "/ready")
        why: list[str] = json.loads(text)["why"]
        assert (status == 200) == (why == [])
        return why

    def _get(self, kind: str, page: str) -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.pages[kind]}{page}", timeout=PATIENT_S) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    with ExitStack() as processes:
        yield Servers(tmp_path, processes)


def test_ready_means_that_it_can_do_its_work(servers: Servers) -> None:
    servers.nameserver()
    assert servers.why_not("nameserver") == ["no broker has registered"]
    controller = servers.controller()
    eventually(lambda: servers.why_not("controller") == [], "the controller leads")
    servers.broker()
    eventually(lambda: servers.why_not("broker") == [], "the broker is the master")
    eventually(lambda: servers.why_not("nameserver") == [], "the broker has registered")
    replica = servers.replica()
    eventually(lambda: servers.in_sync() == 2, "the replica is in sync")
    controller.end()
    replica.end()  # else the master would go on, for nobody in sync could be another
    eventually(lambda: "fenced" in "".join(servers.why_not("broker")), "a master without its lease is fenced")
    servers.controller()
    eventually(lambda: servers.why_not("broker") == [], "it is the master again")
