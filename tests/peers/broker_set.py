"""Brokers of one name under a controller, each ours or Apache's, and a load that counts what was promised."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Self

from tests.peers import probe
from tests.peers.apache import ApacheBroker
from tests.peers.controllers import under
from tests.peers.namespaces import NETWORK, Namespaces
from tests.peers.servers import Broker, Server
from tests.peers.sprocket import SprocketBroker, SprocketNameServer

from sprocketmq.client import ClientError, Message, Producer, ProducerSettings, PullConsumer

TOPIC = "Promises"
NAME = "set-a"
PATIENCE_S = 240.0
#: The namespace of clients, nameserver and controller, where there are namespaces.
CLIENT = "client"
KINDS: Mapping[str, type[Broker]] = {"sprocket": SprocketBroker, "apache": ApacheBroker}


class NotInTime(AssertionError):
    pass


def wait_until(done: Callable[[], bool], what: str, seconds: float = PATIENCE_S) -> float:
    """How long it took."""
    began = time.monotonic()
    while not done():
        if time.monotonic() - began > seconds:
            raise NotInTime(f"{what}: not within {seconds:g} s")
        time.sleep(0.02)
    return time.monotonic() - began


class BrokerSet:
    """Started one after the other, so that the first one is the master.

    With `net` each broker has the namespace of its number, and this process is in that of `client` with the rest.
    """

    def __init__(
        self, directory: Path, controller: Server, kinds: list[str], conf: Mapping[str, str] | None = None,
        net: Namespaces | None = None,
    ) -> None:  # fmt: skip
        self.controller = controller
        self.nameserver = SprocketNameServer(directory / "nameserver")
        if net is not None:
            self.nameserver.allow = NETWORK
            for server in (controller, self.nameserver):
                server.address = f"{net.address(CLIENT)}:{server.port}"
        self.brokers = [
            KINDS[kind](
                directory / f"{number}-{kind}", self.nameserver.address, under(controller.address) | dict(conf or {})
            )
            for number, kind in enumerate(kinds)
        ]
        for number, broker in enumerate(self.brokers):  # a slave is in no topic's route as its master
            if net is not None:
                _place(broker, net, str(number))
            broker.is_ready = partial(probe.answers, broker.address)  # type: ignore[method-assign]

    def __enter__(self) -> Self:
        try:
            self.controller.start()
            self.nameserver.start()
            for count, broker in enumerate(self.brokers, 1):
                broker.start()
                self.wait_whole(count)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for server in (*self.brokers, self.nameserver, self.controller):
            if server.process is not None and server.process.running:
                os.kill(server.pid, signal.SIGCONT)
                server.kill()

    @property
    def master(self) -> Broker | None:
        reign = probe.reign(self.controller.address, NAME)
        return next((each for each in self.brokers if reign is not None and each.address == reign[0]), None)

    def wait_whole(self, count: int | None = None) -> float:
        """Until so many are in sync, and the nameserver knows who is the master."""
        wanted = len(self.brokers) if count is None else count

        def whole() -> bool:
            reign = probe.reign(self.controller.address, NAME)
            return reign is not None and len(reign[1]) == wanted and self._routed(reign[0])

        return wait_until(whole, f"{wanted} in sync")

    def _routed(self, master: str) -> bool:
        return probe.routes_to(self.nameserver.address, master, NAME)

    def wait_master_not(self, old: Broker) -> Broker:
        def another() -> bool:
            master = self.master
            return master is not None and master is not old and self._routed(master.address)

        wait_until(another, f"another master than {old.address}")
        found = self.master
        assert found is not None
        return found


def _place(broker: Broker, net: Namespaces, node: str) -> None:
    broker.address, broker.prefix = f"{net.address(node)}:{broker.port}", net.command(node, ())
    broker.conf |= {"brokerIP2": net.address(node), "brokerAllowFrom": NETWORK, "adminAllowFrom": NETWORK}


class Load:
    """Sends numbered messages one after the other and keeps which of them were promised, and when."""

    def __init__(self, nameserver: str, senders: int = 2, timeout: float = 120.0) -> None:
        self.acked: list[bytes] = []
        self.times: list[float] = []
        self.errors: list[str] = []
        self._nameserver = nameserver
        self._senders = senders
        self._timeout = timeout
        self._stopping = False
        self._promised = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        settings = ProducerSettings(send_timeout=self._timeout)
        self._producer = await Producer("promises", self._nameserver, settings=settings).start()
        self._tasks = [asyncio.ensure_future(self._send(number)) for number in range(self._senders)]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopping = True
        await asyncio.gather(*self._tasks)
        await self._producer.stop()

    async def _send(self, sender: int) -> None:
        number = 0
        while not self._stopping:
            number += 1
            body = b"%d-%d" % (sender, number)
            try:
                receipt = await self._producer.send(Message(TOPIC, body))
            except ClientError as error:
                self.errors.append(repr(error))
                continue
            if receipt.ok:
                self.acked.append(body)
                self.times.append(time.monotonic())
                self._promised.set()

    async def more(self, count: int = 20) -> None:
        """Until so many more are promised."""
        wanted = len(self.acked) + count
        async with asyncio.timeout(PATIENCE_S):
            while len(self.acked) < wanted:
                self._promised.clear()
                await self._promised.wait()

    def longest_gap(self, since: float) -> float:
        """The longest time without a promise from `since` on."""
        times = [since, *(each for each in self.times if each >= since)]
        return max(after - before for before, after in pairwise(times))


async def stored(nameserver: str) -> list[bytes]:
    """Every message that the cluster has now, by queue."""
    bodies: list[bytes] = []
    async with PullConsumer("reader", nameserver) as consumer:
        for queue in await consumer.queues(TOPIC):
            begin, end = await consumer.begin_offset(queue), await consumer.end_offset(queue)
            async for messages in consumer.read_range(queue, begin, end):
                bodies += [message.body for message in messages]
    return bodies


async def lost(nameserver: str, acked: list[bytes]) -> set[bytes]:
    return set(acked) - set(await stored(nameserver))
