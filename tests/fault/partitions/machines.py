"""Nameserver, controllers, etcd and three brokers as processes, each in a network namespace of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from urllib.request import Request, urlopen

from tests.peers import probe
from tests.peers.broker_set import NAME, wait_until
from tests.peers.namespaces import NETWORK, Namespaces
from tests.peers.servers import Server

BROKERS, CONTROLLERS, ETCD = ("b1", "b2", "b3"), ("k1", "k2"), ("e1", "e2", "e3")
CLIENT = "client"
NODES = (CLIENT, "names", *CONTROLLERS, *ETCD, *BROKERS)
TOPIC, QUEUES = "Promises", 3
_ALLOW = ["--set", f"brokerAllowFrom={NETWORK}", "--set", f"adminAllowFrom={NETWORK}"]


class Machine(Server):
    """A server alone in its namespace, so that its port can be the usual one."""

    def __init__(self, net: Namespaces, node: str, directory: Path, port: int, words: list[str]) -> None:
        super().__init__(directory / node, port)
        self.node = node
        self.address = f"{net.address(node)}:{port}"
        self._net, self._words = net, words
        self.stopped = False

    def command(self) -> list[str | Path]:
        return self._net.command(self.node, self._words)

    def is_ready(self) -> bool:
        return probe.answers(self.address)

    def pause(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)
        self.stopped = True

    def wake(self) -> None:
        if self.stopped and self.process is not None and self.process.running:
            os.kill(self.pid, signal.SIGCONT)
        self.stopped = False

    @property
    def runs(self) -> bool:
        return self.process is not None and self.process.running


class EtcdMember(Machine):
    def is_ready(self) -> bool:
        """It answers a linearizable read, so a majority is there; a lone first one is not waited for."""
        return True


class Machines:
    """With the shipped defaults, but for addresses, who may ask, and small files."""

    def __init__(self, net: Namespaces, directory: Path) -> None:
        self.net = net
        self.names = self._sprocket("names", directory, 9876, "nameserver")
        self.etcd = [self._etcd(node, directory) for node in ETCD]
        self.controllers = [self._controller(node, directory) for node in CONTROLLERS]
        self.brokers = [self._broker(node, directory) for node in BROKERS]

    @property
    def all(self) -> list[Machine]:
        return [self.names, *self.etcd, *self.controllers, *self.brokers]

    def _sprocket(self, node: str, directory: Path, port: int, *words: str) -> Machine:
        place = ["--host", self.net.address(node), "--port", str(port)]
        return Machine(self.net, node, directory, port, [sys.executable, "-m", "sprocketmq", *words, *place, *_ALLOW])

    def _etcd(self, node: str, directory: Path) -> Machine:
        own = self.net.address(node)
        members = ",".join(f"{each}=http://{self.net.address(each)}:2380" for each in ETCD)
        options = {
            "name": node, "data-dir": str(directory / node / "data"), "listen-client-urls": f"http://{own}:2379",
            "advertise-client-urls": f"http://{own}:2379", "listen-peer-urls": f"http://{own}:2380",
            "initial-advertise-peer-urls": f"http://{own}:2380", "initial-cluster": members, "log-level": "error",
        }  # fmt: skip
        words = ["etcd", *(word for key, value in options.items() for word in (f"--{key}", value))]
        return EtcdMember(self.net, node, directory, 2379, words)

    def _controller(self, node: str, directory: Path) -> Machine:
        peers = ";".join(f"{each}-{self.net.address(each)}:9878" for each in CONTROLLERS)
        endpoints = ";".join(f"http://{self.net.address(each)}:2379" for each in ETCD)
        settings = {
            "controllerDLegerPeers": peers, "controllerDLegerSelfId": node, "controllerEngine": "etcd",
            "etcdEndpoints": endpoints, "metricsPromExporterPort": "0", "brokerAllowFrom": NETWORK,
            "adminAllowFrom": NETWORK,
        }  # fmt: skip
        given = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        place = ["--host", self.net.address(node), "--data", str(directory / node / "state")]
        return Machine(
            self.net, node, directory, 9878, [sys.executable, "-m", "sprocketmq", "controller", *place, *given]
        )

    def _broker(self, node: str, directory: Path) -> Machine:
        settings = {
            "brokerName": NAME, "brokerIP1": self.net.address(node), "bindAddress": self.net.address(node),
            "listenPort": "10911", "storePathRootDir": str(directory / node / "store"),
            "brokerAllowFrom": NETWORK, "adminAllowFrom": NETWORK, "enableControllerMode": "true",
            "controllerAddr": ";".join(f"{self.net.address(each)}:9878" for each in CONTROLLERS),
            "mappedFileSizeCommitLog": str(1 << 20), "defaultTopicQueueNums": str(QUEUES), "traceTopicEnable": "false",
        }  # fmt: skip
        given = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        words = [sys.executable, "-m", "sprocketmq", "broker", "-n", f"{self.net.address('names')}:9876", *given]
        return Machine(self.net, node, directory, 10911, words)

    # -- life

    def start(self) -> None:
        for each in (*self.etcd, self.names):
            each.start()
        wait_until(self.etcd_serves, "etcd has a leader")
        for each in (*self.controllers, *self.brokers):
            each.start()
        self.wait_whole()

    def kill(self) -> None:
        for each in self.all:
            each.wake()
            each.kill()

    def etcd_serves(self) -> bool:
        for node in ETCD:
            body = json.dumps({"key": "AA=="}).encode()
            with contextlib.suppress(OSError):
                with urlopen(Request(f"http://{self.net.address(node)}:2379/v3/kv/range", body), timeout=1) as answer:
                    return bool(answer.status == 200)
        return False

    @property
    def reign(self) -> tuple[str, frozenset[int]] | None:
        return next((found for each in self.controllers if (found := probe.reign(each.address, NAME))), None)

    @property
    def master(self) -> Machine:
        found: list[Machine] = []

        def known() -> bool:
            reign = self.reign
            found[:] = [each for each in self.brokers if reign is not None and each.address == reign[0]]
            return bool(found)

        wait_until(known, "a master")
        return found[0]

    @property
    def leader(self) -> Machine:
        """The controller that leads."""
        wait_until(lambda: any(probe.leads(each.address) for each in self.controllers), "a controller that leads")
        return next((each for each in self.controllers if probe.leads(each.address)), self.controllers[0])

    def wait_whole(self) -> float:
        def whole() -> bool:
            reign = self.reign
            return (
                reign is not None
                and len(reign[1]) == len(self.brokers)
                and probe.routes_to(self.names.address, reign[0], NAME)
            )

        return wait_until(whole, "all brokers in sync")
