"""A small network of network namespaces: each node has one of its own, and all ways lead through one in the middle.

    node  10.77.N.2  ---  10.77.N.1  middle

The middle forwards. A rule there drops what goes from one node to another without a word, in that direction alone: both
ends keep their connections and hear nothing, as when a switch fails. Needs root and iproute2; a slow link needs the
kernel's tbf. Nothing outside these namespaces is touched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

_MIDDLE = "middle"
NETWORK = "10.77.0.0/16"


class NoNamespaces(Exception):
    """This machine makes none; the text says why."""


def _run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoNamespaces(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def require_namespaces() -> None:
    """Raises NoNamespaces where they can not be made."""
    if shutil.which("ip") is None:
        raise NoNamespaces("there is no `ip` here (Debian: apt-get install iproute2)")
    if os.geteuid():
        raise NoNamespaces("only root makes network namespaces")
    name = f"smq-{os.getpid()}-try"
    _run("ip", "netns", "add", name)
    _run("ip", "netns", "del", name)


def run_inside(module: str, nodes: Sequence[str], arguments: Sequence[str]) -> int:
    """Make the namespaces, and run `python -m module ... --inside PREFIX` in that of the first node; its exit code."""
    require_namespaces()
    prefix = f"smq-{os.getpid()}"
    with Namespaces(prefix, nodes) as net:
        words = [sys.executable, "-m", module, *arguments, "--inside", prefix]
        return subprocess.run(net.command(nodes[0], words), check=False).returncode


class Namespaces:
    """`prefix` names them on this machine. Entered, they exist; whoever runs in one of them only needs the names."""

    def __init__(self, prefix: str, nodes: Sequence[str]) -> None:
        self.prefix, self.nodes = prefix, tuple(nodes)
        self._cut: set[tuple[str, str]] = set()
        self._slow: set[str] = set()

    def name(self, node: str) -> str:
        return f"{self.prefix}-{node}"

    def address(self, node: str) -> str:
        return f"10.77.{self.nodes.index(node) + 1}.2"

    def command(self, node: str, words: Iterable[str | Path]) -> list[str | Path]:
        return ["ip", "netns", "exec", self.name(node), *words]

    def __enter__(self) -> Self:
        try:
            _run("ip", "netns", "add", self.name(_MIDDLE))
            forward = "echo 1 > /proc/sys/net/ipv4/ip_forward"
            _run(*map(str, self.command(_MIDDLE, ["sh", "-c", forward])))
            for node in self.nodes:
                self._add(node)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _add(self, node: str) -> None:
        middle, own, gateway = self.name(_MIDDLE), self.name(node), self.address(node)[:-1] + "1"
        _run("ip", "netns", "add", own)
        _run("ip", "link", "add", node, "netns", middle, "type", "veth", "peer", "name", "wire", "netns", own)
        _run("ip", "-n", middle, "address", "add", f"{gateway}/24", "dev", node)
        _run("ip", "-n", middle, "link", "set", node, "up")
        _run("ip", "-n", own, "address", "add", f"{self.address(node)}/24", "dev", "wire")
        for device in ("lo", "wire"):
            _run("ip", "-n", own, "link", "set", device, "up")
        _run("ip", "-n", own, "route", "add", "default", "via", gateway)

    def __exit__(self, *_: object) -> None:
        for node in (*self.nodes, _MIDDLE):
            subprocess.run(["ip", "netns", "del", self.name(node)], capture_output=True, check=False)

    # -- faults

    def cut(self, *ways: tuple[str, str]) -> None:
        """From the first to the second of each nothing arrives any more."""
        for way in set(ways) - self._cut:
            self._rule("add", way)
            self._cut.add(way)

    def cut_off(self, node: str, others: Iterable[str]) -> None:
        self.cut(*(way for each in others if each != node for way in ((node, each), (each, node))))

    def slow(self, node: str, kbit: int) -> None:
        """So much goes out of the middle to this node, and no more."""
        limit = ["root", "tbf", "rate", f"{kbit}kbit", "burst", "16kbit", "latency", "2s"]
        _run("tc", "-n", self.name(_MIDDLE), "qdisc", "add", "dev", node, *limit)
        self._slow.add(node)

    def heal(self) -> None:
        for way in self._cut:
            self._rule("del", way)
        for node in self._slow:
            _run("tc", "-n", self.name(_MIDDLE), "qdisc", "del", "dev", node, "root")
        self._cut.clear()
        self._slow.clear()

    def _rule(self, verb: str, way: tuple[str, str]) -> None:
        here, there = map(self.address, way)
        _run("ip", "-n", self.name(_MIDDLE), "rule", verb, "from", here, "to", there, "blackhole")
