"""The servers of a scene: the one file of the corpus that knows modules of the product.

Fixed are the time (that of the loop), the ports, the process id, and everything random; and nobody uses up the share of
a turn, which is real time. Nothing is synced to the disk,
for no power is cut here. The threads that flush and save, which work in real time, have nothing to do: the loop's
thread flushes when a flush is asked for, and saves the tables. Only a broker that flushes before it answers has its
thread at work; its scene waits for answers.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import ModuleType
from unittest import mock

from tests.corpus.model import START_MS
from tests.corpus.network import VirtualLoop

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.tables import saver
from sprocketmq.codes import RequestCode as Code
from sprocketmq.config import from_properties
from sprocketmq.controller.config import ControllerConfig
from sprocketmq.controller.server import Controller
from sprocketmq.controller.wiring import make_engine
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.nameserver.server import Nameserver
from sprocketmq.remoting import turns
from sprocketmq.remoting.config import ServerConfig

__all__ = ["Code", "Servers", "fixed_world", "seed"]

PORTS = {"nameserver": 9876, "broker-a": 10911, "broker-b": 20911, "controller": 9878}
_SMALL = {
    "brokerIP1": "127.0.0.1",
    "bindAddress": "127.0.0.1",
    "brokerClusterName": "DefaultCluster",
    "mappedFileSizeCommitLog": str(1 << 20),
    "mappedFileSizeConsumeQueue": "20000",
    "maxHashSlotNum": "100",
    "maxIndexNum": "400",
    "flushIntervalCommitLog": "3600000",
    "flushIntervalConsumeQueue": "3600000",
    "timerWheelEnable": "false",  # its file is large; the scenes that need it have it
}


class _AtOnce:
    """In the place of the threads that save tables."""

    def submit(self, job: Callable[[], object]) -> Future[object]:
        done: Future[object] = Future()
        done.set_result(job())
        return done


async def _run(job: Callable[..., object], *given: object) -> object:
    """In the place of a thread for one job."""
    return job(*given)


_limits = ServerConfig.limits

_FIXED: tuple[tuple[ModuleType | type, str, object], ...] = (
    (os, "getpid", lambda: 4711),
    (os, "urandom", lambda size: (42).to_bytes(size)),
    (os, "fsync", lambda _file: None),
    (os, "fdatasync", lambda _file: None),
    (saver, "threads", _AtOnce()),
    (asyncio, "to_thread", _run),
    (ServerConfig, "limits", lambda config: replace(_limits(config), read_share_seconds=3600.0)),
    (turns, "SHARE_NS", 1 << 62),
)
_HOME = {"kvConfigPath": "namesrv/kvConfig.json", "configStorePath": "namesrv/namesrv.properties"}
_CONTROLLER_HOME = {"controllerStorePath": "controller", "configStorePath": "controller/controller.properties"}


class LoopClock:
    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._began = loop.time()

    def now_ms(self) -> int:
        return START_MS + self.monotonic_ms()

    def monotonic_ms(self) -> int:
        return round((self._loop.time() - self._began) * 1000)


class Servers:
    """Started in the current directory, where each has its files under its name."""

    def __init__(self, loop: VirtualLoop, settings: Mapping[str, Mapping[str, str]]) -> None:
        self._loop = loop
        self._clock = LoopClock(loop)
        self._brokers: list[Broker] = []
        self._others: list[Nameserver | Controller] = []
        for name, entries in settings.items():
            self._start(name, entries)

    def codes(self) -> frozenset[int]:
        """The requests that one of them has a handler for."""
        return frozenset().union(
            *(broker.table.codes() for broker in self._brokers), *(one.codes() for one in self._others)
        )

    def stop(self) -> None:
        for broker in reversed(self._brokers):
            self._loop.run(broker.stop())
        for other in self._others:
            self._loop.run(other.stop())

    def _start(self, name: str, entries: Mapping[str, str]) -> None:
        port = {"listenPort": str(PORTS[name]), "metricsExporterType": "DISABLE"}
        if name == "nameserver":
            config = from_properties(NameserverConfig, {**_HOME, **port, "bindAddress": "127.0.0.1", **entries})
            self._add(Nameserver(config, clock=self._loop.time))
        elif name == "controller":
            given = {**_CONTROLLER_HOME, **port, "bindAddress": "127.0.0.1", **entries}
            settings = from_properties(ControllerConfig, given)
            self._add(Controller(settings, make_engine(settings), clock=self._loop.time))
        else:
            broker = Broker.from_entries({**_SMALL, **port, "brokerName": name, "storePathRootDir": name, **entries})
            broker.clock = self._clock
            self._brokers.append(broker)
            self._loop.run(broker.start())
            if not broker.store.config.sync_flush:
                broker.store.flusher.flush_soon = broker.store.flusher.flush  # type: ignore[method-assign]

    def _add(self, other: Nameserver | Controller) -> None:
        self._others.append(other)
        self._loop.run(other.start())


def seed() -> None:
    """Called before each step, so that its choices do not rest on those of the steps before."""
    random.seed(20231114)


@contextmanager
def fixed_world() -> Iterator[None]:
    """The process id, the random numbers and the time zone of every run."""
    zone = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    time.tzset()
    state = random.getstate()
    try:
        with ExitStack() as patches:
            for module, name, value in _FIXED:
                patches.enter_context(mock.patch.object(module, name, value))
            yield
    finally:
        random.setstate(state)
        os.environ.pop("TZ")
        if zone is not None:
            os.environ["TZ"] = zone
        time.tzset()
