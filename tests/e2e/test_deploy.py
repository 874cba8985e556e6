"""The command lines of `deploy/` as they stand there, with other paths, addresses and ports: where there is no engine
for containers, no systemd and no Kubernetes, what these would run is run all the same.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml
from tests.e2e.processes import SOURCE, Sprocket
from tests.peers.etcd import EtcdCluster, require_etcd
from tests.peers.patience import PATIENT_S
from tests.peers.process import free_port

from sprocketmq import Message
from sprocketmq.client import ProducerSettings
from sprocketmq.client.sync import Producer

pytestmark = pytest.mark.timeout(600)

DEPLOY = Path(__file__).parents[2] / "deploy"
#: Networks that servers are in, wherever they run, and names that they have there.
_NETWORK = re.compile(r"\b\d+\.\d+\.\d+\.\d+/\d+")
_NAME = re.compile(r"\b(nameserver|controller|etcd)(?:-\d\.\w+)?:\d+")
_FOLDER = re.compile(r"(?<==)/(?:data|var/lib/sprocketmq)\b")


#: What a server calls itself when it says that it is ready; a broker has a name.
_READY = {"broker": "broker-a"}


class Machine:
    """Runs what was written for other machines: names become ports of this one, their folders one of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ports = {name: free_port() for name in ("nameserver", "controller", "etcd")}
        self.running = ExitStack()

    @property
    def nameserver(self) -> str:
        return f"127.0.0.1:{self._ports['nameserver']}"

    def names(self, service: str, address: str) -> None:
        self._ports[service] = int(address.rpartition(":")[2])

    def run(self, name: str, command: list[str]) -> Sprocket:
        """Until it is ready."""
        started = Sprocket(*(self.here(name, part) for part in command), *self._own_ports(command[0]))
        self.running.callback(started.end)
        return started.ready(_READY.get(command[0], command[0]))

    def here(self, name: str, text: str) -> str:
        text = text.replace("127.0.0.1:9876", "nameserver:9876")  # published by its host
        text = _NAME.sub(lambda found: f"127.0.0.1:{self._ports[found[1]]}", text)
        text = _NETWORK.sub("127.0.0.0/8", text).replace("0.0.0.0", "127.0.0.1").replace("$(POD_IP)", "127.0.0.1")
        return _FOLDER.sub(str(self._folder / name), text)

    def _own_ports(self, kind: str) -> list[str]:
        if kind == "dashboard":
            return ["--port=0"]
        page = "--set=metricsPromExporterPort=0"
        if kind in self._ports:
            return [f"--port={self._ports[kind]}", page]
        listen, replication = free_port(), free_port()
        return ["--set=brokerIP1=127.0.0.1", f"--port={listen}", f"--set=haListenPort={replication}", page]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    with made.running:
        yield made


def send_one(nameserver: str) -> None:
    settings = ProducerSettings(send_timeout=PATIENT_S)
    with Producer("deployed", nameserver, settings=settings) as producer:
        assert producer.send(Message("deployed", b"it runs")).message_id


def test_compose(machine: Machine, tmp_path: Path) -> None:
    require_etcd()
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    etcd = EtcdCluster(tmp_path, members=1)
    etcd.start()
    machine.running.callback(etcd.kill)
    machine.names("etcd", etcd.endpoints[0])
    started = {
        name: machine.run(name, service["command"])
        for name, service in sorted(services.items(), key=lambda pair: _ORDER.index(pair[1]["command"][0]))
        if name != "etcd"
    }
    send_one(machine.nameserver)
    home = f"http://127.0.0.1:{started['console'].ports['dashboard']}"
    with urllib.request.urlopen(f"{home}/topics", timeout=PATIENT_S) as page:
        assert b"deployed" in page.read()


_ORDER = ("etcd", "nameserver", "controller", "broker", "dashboard")


def test_kubernetes(machine: Machine) -> None:
    manifests = yaml.safe_load_all((DEPLOY / "kubernetes" / "sprocketmq.yaml").read_text())
    sets = [each for each in manifests if each["kind"] == "StatefulSet"]
    for each in sorted(sets, key=lambda one: _ORDER.index(one["metadata"]["name"])):
        (container,) = each["spec"]["template"]["spec"]["containers"]
        replicas = each["spec"]["replicas"] if container["name"] == "broker" else 1
        for number in range(replicas):
            machine.run(f"{container['name']}-{number}", container["args"])
    send_one(machine.nameserver)


def test_systemd(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each tells systemd that it is ready, as `Type=notify` wants."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.settimeout(PATIENT_S)
        told.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        for kind in ("nameserver", "controller", "broker"):
            unit = (DEPLOY / "systemd" / f"sprocketmq-{kind}.service").read_text()
            found = re.search(r"^ExecStart=\S+/sprocket (.*)$", unit, re.M)
            assert found is not None
            command, option, path = found[1].split()
            conf = tmp_path / Path(path).name
            entries = (DEPLOY / "systemd" / conf.name).read_text()
            conf.write_text(machine.here(kind, entries))
            machine.run(kind, [command, option, str(conf)])
            assert told.recv(4096).startswith(b"READY=1")
    send_one(machine.nameserver)


def test_docker(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DEPLOY / "docker" / "Dockerfile").read_text()
    (command,) = (json.loads(found) for found in re.findall(r"^CMD (\[.*\])$", text, re.M))
    (check,) = (json.loads(found) for found in re.findall(r"^HEALTHCHECK .*CMD (\[.*\])$", text, re.M))
    names, broker, replication, page = (free_port() for _ in range(4))
    monkeypatch.chdir(tmp_path)  # WORKDIR is the volume
    ports = [f"--nameserver-port={names}", f"--port={broker}", f"--set=metricsPromExporterPort={page}"]
    ports.append(f"--set=haListenPort={replication}")  # else the port behind the broker's, which may be one of these
    address = ["--set=brokerIP1=127.0.0.1", "--dashboard-port=0"]
    started = Sprocket(*(machine.here("up", part) for part in command), *ports, *address)
    machine.running.callback(started.end)
    started.ready(_READY["broker"])
    send_one(f"127.0.0.1:{names}")
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "SPROCKETMQ_PROBE_PORTS": str(page)}
    subprocess.run([sys.executable, *check[1:]], check=True, env=environment, timeout=PATIENT_S)
