"""Brokers of Apache's are replaced by ours while the set serves, one after the other and each in its store; and back.

A producer and a consumer run all the time. What was promised is there at the end and was consumed, what was read at a
place is still there, and the messages of one sender are in every queue in the order in which it sent them.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.peers import probe
from tests.peers.broker_set import KINDS, PATIENCE_S, TOPIC, BrokerSet, Load
from tests.peers.controllers import ApacheController
from tests.peers.patience import LONG
from tests.peers.servers import Broker

from sprocketmq.client import ConsumerSettings, PullConsumer, PushConsumer, ReceivedMessage

pytestmark = [pytest.mark.interop, pytest.mark.timeout(1200)]

Place = tuple[int, int]


class Reader:
    """A consumer that notes what it got from which place."""

    def __init__(self, nameserver: str) -> None:
        self.seen: dict[Place, bytes] = {}
        self.changed: list[Place] = []
        self.consumer = PushConsumer("readers", nameserver, settings=ConsumerSettings(consume_from="first"))
        self.consumer.subscribe(TOPIC)(self._note)

    async def _note(self, message: ReceivedMessage) -> None:
        place = message.queue.queue_id, message.queue_offset
        if self.seen.setdefault(place, message.body) != message.body:
            self.changed.append(place)

    async def wait_for(self, bodies: list[bytes]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while set(bodies) - set(self.seen.values()):  # noqa: ASYNC110 - the handler has no event of its own
                await asyncio.sleep(0.1)


@pytest.mark.parametrize(
    ("leave", "kinds"),
    [
        (Broker.kill, ["sprocket"]),
        pytest.param(Broker.stop, ["sprocket", "apache"], marks=LONG),
    ],
)
def test_a_set_is_moved_broker_by_broker(tmp_path: Path, leave: Callable[[Broker], None], kinds: list[str]) -> None:
    with BrokerSet(tmp_path, ApacheController(tmp_path / "controller"), ["apache", "apache"]) as brokers:
        asyncio.run(move(brokers, leave, kinds))


async def move(brokers: BrokerSet, leave: Callable[[Broker], None], kinds: list[str]) -> None:
    address = brokers.nameserver.address
    reader = Reader(address)
    async with Load(address) as load:
        await load.more(50)
        async with reader.consumer:
            for kind in kinds:
                for number in slave_first(brokers):
                    await asyncio.to_thread(leave, brokers.brokers[number])
                    await asyncio.to_thread(replace, brokers, number, kind)
                    await asyncio.to_thread(brokers.wait_whole)
                    await load.more(50)
            await reader.wait_for(load.acked)
    assert load.errors == []
    assert reader.changed == []
    queues = await stored(address)
    assert set(load.acked) <= {body for queue in queues.values() for body in queue.values()}
    assert {place: queues[place[0]].get(place[1]) for place in reader.seen} == reader.seen
    assert [number for number, queue in queues.items() if not in_order(queue)] == []


def slave_first(brokers: BrokerSet) -> list[int]:
    """As an operator does it, so that the role moves as seldom as it can."""
    master = brokers.master
    return sorted(range(len(brokers.brokers)), key=lambda number: brokers.brokers[number] is master)


def replace(brokers: BrokerSet, number: int, kind: str) -> None:
    """The other kind of broker begins where the one before it has ended: its store, its port, its broker.conf."""
    old = brokers.brokers[number]
    new = KINDS[kind](old.directory, old.nameserver, old.conf, old.port)
    new.is_ready = partial(probe.answers, new.address)  # type: ignore[method-assign]
    brokers.brokers[number] = new
    new.start()


async def stored(nameserver: str) -> dict[int, dict[int, bytes]]:
    """By queue and offset, all that the set has."""
    found: dict[int, dict[int, bytes]] = defaultdict(dict)
    async with PullConsumer("checkers", nameserver) as consumer:
        for queue in await consumer.queues(TOPIC):
            begin, end = await consumer.begin_offset(queue), await consumer.end_offset(queue)
            async for messages in consumer.read_range(queue, begin, end):
                found[queue.queue_id] |= {message.queue_offset: message.body for message in messages}
    return found


def in_order(queue: dict[int, bytes]) -> bool:
    """A send that was tried twice may be there twice, the second time before anything that was sent later."""
    last: dict[bytes, int] = {}
    for _offset, body in sorted(queue.items()):
        sender, number = body.split(b"-")
        if int(number) < last.get(sender, 0):
            return False
        last[sender] = int(number)
    return True
