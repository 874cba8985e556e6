"""Generated pulls are answered alike, byte for byte, by the one road and by the two ways that it replaces.

Each of two brokers gets the same requests in the same order, over connections that only note what is answered: pulls
of every kind between messages that come, heartbeats, and changes by an administrator.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio
from tests.loop_clock import LoopClock
from tests.property.former_pull import FormerPulls
from tests.unit.broker.static_topic.support import A, B, detail, item
from tests.unit.broker.support import START_MS, FakeClock, make_broker, wants

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.cluster.addresses import packed_host
from sprocketmq.broker.pull.offset_moved import MovedOffsets
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.heartbeat import ConsumerData, HeartbeatData
from sprocketmq.protocol.bodies.topic import PERM_READ, TopicConfig
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.enums import ConsumeFromWhere, ConsumeType, MessageModel
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame
from sprocketmq.protocol.record.properties import encode_properties
from sprocketmq.remoting import Connection
from sprocketmq.remoting.peer import UNKNOWN_PEER
from sprocketmq.store.store import MessageStore

SETTLED = 8  # turns of the loop after which everything that was woken is answered


class Wire:
    """In the place of a connection: what is answered, at once or late."""

    def __init__(self) -> None:
        self.peer = UNKNOWN_PEER
        self.closed = False
        self.stalled_since = None
        self.unread_bytes = 0
        self.attributes: dict[str, Any] = {}
        self.on_closed: list[Any] = []
        self.on_writable: list[Any] = []
        self.answers: list[bytes] = []

    def reply(self, reply: Command | bytes | list[bytes]) -> None:
        if isinstance(reply, Command):
            reply = encode_frame(reply)
        self.answers.append(reply if isinstance(reply, bytes) else b"".join(reply))

    def send(self, command: Command) -> None:
        """A notice of the broker's."""

    def close(self) -> None:
        self.closed = True
        while self.on_closed:
            self.on_closed.pop()(self)


class Road:
    """A broker and the wires to it."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.wires = [Wire() for _ in range(3)]

    def ask(self, wire: int, frame: bytes) -> None:
        if self.wires[wire].closed:
            self.wires[wire] = Wire()
        (request,) = FrameDecoder().feed(frame)
        connection = self.wires[wire]
        reply = self.broker.table.process(cast(Connection, connection), request)
        if reply is not None:
            connection.reply(reply)

    def take_former_ways(self) -> None:
        broker = self.broker
        former = FormerPulls(
            broker.settings, broker.store, broker.topics, broker.groups, broker.consumers, broker.offsets, broker.stats,
            MovedOffsets(broker.store, broker.clock), broker.cold,
        )  # fmt: skip
        former.logical = broker.logical
        former.add_to(broker.table)
        broker.mappings.on_change.append(lambda _topic: former.close_lanes())
        broker.mappings.on_change.append(former.long_polls.wake_topic)
        cast(Any, broker.pulls).long_polls = former.long_polls

    def known(self) -> tuple[object, ...]:
        broker = self.broker
        got = {
            (key, queue_id): (counter.count, counter.size)
            for key, counters in broker.stats.gets.items()
            for queue_id, counter in enumerate(counters.queues)
            if counter.count
        }
        return (
            broker.offsets.table, broker.offsets.pulled, broker.offsets.resets, got, broker.stats.found,
            broker.stats.missed, broker.store.log.max_offset, sorted(broker.groups.configs),
        )  # fmt: skip


class Script:
    """Random steps; each is a frame for a wire, or a change of a broker."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.opaque = 0

    def frame(self, code: int, fields: dict[str, object], body: bytes = b"") -> bytes:
        self.opaque += 1
        ext = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in fields.items()}
        kind = self.random.randrange(2)
        return encode_frame(
            Command(code, opaque=self.opaque, version=479, ext_fields=ext, body=body, serialize_type=kind)
        )

    def message(self) -> bytes:
        choose = self.random.choice
        text = encode_properties({"UNIQ_KEY": f"{self.opaque:032X}", "TAGS": choose("ABC"), "n": str(self.opaque % 9)})
        fields = {
            "a": "PG", "b": choose(["T", "T", "U", "S"]), "c": "TBW102", "d": 4, "e": choose([0, 0, 1]), "f": 0,
            "g": START_MS, "h": 0, "i": text, "j": 0, "k": False, "m": False, "n": A,
        }  # fmt: skip
        return self.frame(RequestCode.SEND_MESSAGE_V2, fields, b"%d" % self.opaque * choose([1, 20]))

    def pull(self, store: MessageStore) -> bytes:
        choose = self.random.choice
        topic, queue_id = choose(["T", "T", "T", "U", "S", "none"]), choose([0, 0, 0, 1, 3, 4, -1])
        ends = 2 * [store.max_offset(topic, queue_id)]
        kind, text = choose(
            [("TAG", "*"), ("TAG", "*"), ("TAG", "A || B"), ("TAG", "none"), ("TAG", "||"), ("", "A"),
             ("SQL92", "n > 4"), ("SQL92", "n >"), ("OTHER", "x")]
        )  # fmt: skip
        fields: dict[str, object] = {
            "consumerGroup": choose(["G", "G", "H", "TOOLS_CONSUMER", "bad group"]),
            "topic": topic, "queueId": queue_id,
            "queueOffset": choose([0, 1, 2, 5, 40, -1, *ends]), "maxMsgNums": choose([1, 2, 32]),
            "sysFlag": choose([0, 2, 4, 5, 6, 7, 6]), "commitOffset": choose([0, 3, 9]),
            "suspendTimeoutMillis": choose([0, 1000, 20_000]), "subVersion": choose([0, 1, 2, 3]),
            "subscription": text, "expressionType": kind,
        }  # fmt: skip
        if choose([True, False, False]):
            fields["lo"] = choose(["false", "true"])
        if choose([True, False, False, False]):
            fields["maxMsgBytes"] = choose([0, 200, 2000])
        if choose([True, False, False, False]):
            fields["bulk"] = 1
        code = choose([RequestCode.PULL_MESSAGE, RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE])
        return self.frame(code, fields)

    def heartbeat(self) -> bytes:
        choose = self.random.choice
        kind, text = choose([("TAG", "*"), ("TAG", "A"), ("SQL92", "n < 5")])
        consumer = ConsumerData(
            group_name=choose("GH"), consume_type=choose(list(ConsumeType)),
            message_model=choose([MessageModel.CLUSTERING, MessageModel.BROADCASTING]),
            consume_from_where=ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
            subscription_data_set=tuple(wants(topic, text, self.opaque, kind) for topic in choose(["T", "TU", "TUS"])),
        )  # fmt: skip
        body = codec.encode(HeartbeatData(client_id="c1", consumer_data_set=(consumer,), producer_data_set=()))
        return self.frame(RequestCode.HEART_BEAT, {}, body)


def administer(broker: Broker, choice: int, value: int) -> None:
    """One change, as an administrator's request makes it."""
    if choice == 0:
        broker.settings.update({"brokerPermission": "66624"[value % 5]}, 0)
    elif choice == 1:
        broker.settings.update({"slaveReadEnable": "true", "litePullMessageEnable": ["true", "false"][value % 2]}, 0)
    elif choice == 2:
        broker.topics.put(replace(broker.topics.configs["T"], perm=[6, 2, 6, 4, 6][value % 5]))
    elif choice == 3:
        broker.groups.forbid("G", "U", PERM_READ, forbidden=value % 4 == 0)
    elif choice == 4:
        broker.groups.put(
            replace(broker.groups.configs["TOOLS_CONSUMER"], group_name="H", consume_enable=value % 4 != 0)
        )
    elif choice == 5:
        broker.offsets.reset("G", "T", value % 2, value % 5)
        broker.pulls.long_polls.wake("T", value % 2, "G")
    elif choice == 6:
        broker.settings.update({"rejectPullConsumerEnable": ["true", "false"][value % 2]}, 0)
    else:
        broker.settings.update({"longPollingEnable": ["true", "false"][value % 2]}, 0)


async def start(root: Path) -> Road:
    broker = make_broker(root, FakeClock())
    await broker.start()
    host = broker.store.appender.store_host = packed_host("127.0.0.1", 10911)  # one port, that ids may be equal
    broker.sends.set_store_host(host)
    for topic in ("T", "U", "S"):
        broker.topics.put(TopicConfig(topic_name=topic, read_queue_nums=4, write_queue_nums=4, perm=6))
    broker.mappings.put(detail(A, {0: (item(0, A, 0, queue_id=2),), 1: (item(0, B, 0),)}))
    return Road(broker)


@pytest_asyncio.fixture
async def roads(tmp_path: Path) -> AsyncIterator[list[Road]]:
    roads = [await start(tmp_path / name) for name in ("one", "two")]
    roads[1].take_former_ways()
    yield roads
    for road in roads:
        await road.broker.stop()


@pytest.mark.parametrize("seed", range(12))
async def test_both_answer_alike(roads: list[Road], seed: int, loop_clock: LoopClock) -> None:
    script = Script(seed)
    steps = script.random
    late = 0
    store = roads[0].broker.store
    for _step in range(400):
        what, wire, choice, value = steps.randrange(20), steps.randrange(3), steps.randrange(8), steps.randrange(60)
        frame = script.message() if what < 6 else script.heartbeat() if what == 6 else script.pull(store)
        for road in roads:
            if what in (6, 7):  # who waits is answered first: a change is judged by pulls that come after it
                road.broker.pulls.long_polls.wake_all()
            if what == 7:
                administer(road.broker, choice, value)
            elif what == 8 and value < 10:
                road.wires[wire].close()
            else:
                road.ask(wire, frame)
        if what == 9 and value < 20:
            loop_clock.advance(1.5)
        late += len(roads[0].broker.pulls.long_polls)
        for _turn in range(SETTLED):
            await asyncio.sleep(0)
        assert roads[0].wires[wire].answers == roads[1].wires[wire].answers
    for road in roads:
        road.broker.pulls.long_polls.wake_all()
    for _turn in range(SETTLED):
        await asyncio.sleep(0)
    assert [wire.answers for wire in roads[0].wires] == [wire.answers for wire in roads[1].wires]
    assert roads[0].known() == roads[1].known()
    assert late
