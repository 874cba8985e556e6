"""One store directory, two brokers in turn: what ours wrote Apache RocketMQ 5.3.3 opens, goes on with, and hands back.

The files are so small that the log, a queue and the index each roll over in every turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.peers.apache import ApacheBroker
from tests.peers.broker_set import wait_until
from tests.peers.clients import PullConsumer
from tests.peers.java_peer import JavaPeer
from tests.peers.lines import PeerError
from tests.peers.messages import Outgoing, Queue, Received, Sent
from tests.peers.servers import Broker, NameServer
from tests.peers.sprocket import SprocketBroker, SprocketNameServer
from tests.peers.toolchain import needs_tools
from tests.unit.broker.support import Caller

from sprocketmq.codes import RequestCode, ResponseCode

pytestmark = pytest.mark.interop

TOPIC = "exchanged"
SIZES = {
    "mappedFileSizeCommitLog": str(64 << 10),
    "mappedFileSizeConsumeQueue": str(20 * 50),
    "maxHashSlotNum": "100",
    "maxIndexNum": "400",
    "defaultTopicQueueNums": "2",
}


def kill(broker: Broker) -> None:
    """When the table of topics is saved: ours finds a topic in the log, Apache's broker in that table alone."""
    wait_until(lambda: is_saved(broker.store / "config" / "topics.json"), "the topic in its table")
    broker.kill()


def is_saved(table: Path) -> bool:
    try:
        return f'"{TOPIC}"' in table.read_text()
    except FileNotFoundError:  # Apache's broker is about to rename the new one
        return False


LEAVE: dict[str, Callable[[Broker], None]] = {"stopped": Broker.stop, "killed": kill}


@dataclass
class Exchange:
    """A nameserver, the two brokers over one directory and port, and what a Java client has sent so far."""

    java: JavaPeer
    nameserver: NameServer
    ours: Broker
    apache: Broker
    sent: dict[bytes, Sent] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return self.nameserver.address

    def write(self, turn: str, singles: int = 150) -> None:
        with self.java.producer(f"producers-{turn}", self.address) as producer:
            messages = [self.message(turn, number) for number in range(singles)]
            for message, result in zip(messages, producer.send_all(messages), strict=True):
                self.sent[message.body] = result
            batch = [Outgoing(TOPIC, b"%s batch %d" % (turn.encode(), number), keys=f"b-{turn}") for number in range(9)]
            queue = Queue(TOPIC, self.ours.name, 0)
            result = producer.send_batch(batch, queue=queue)
            assert result.status == "SEND_OK"

    @staticmethod
    def message(turn: str, number: int) -> Outgoing:
        body = b"%s %d " % (turn.encode(), number)
        keys, properties = f"k-{turn}-{number} all-{turn}", {"number": str(number), "wort": "ü"}
        return Outgoing(TOPIC, body.ljust(300, b"."), tags="AB"[number % 2], keys=keys, properties=properties)

    def read_everything(self, turns: Sequence[str]) -> None:
        """Every message by its place, one in ten by its ids and its key, and those of a batch by theirs."""
        with self.java.pull_consumer("readers", self.address) as reader:
            reader.wait_visible(TOPIC, f"b-{turns[-1]}", 9)
            found = {message.body: message for queue in reader.queues(TOPIC) for message in whole_queue(reader, queue)}
            for body, sent in self.sent.items():
                seen = found[body]
                assert (seen.queue_id, seen.queue_offset) == (sent.queue.queue_id, sent.queue_offset)
                assert (seen.msg_id, seen.offset_msg_id) == (sent.msg_id, sent.offset_msg_id)
                assert seen.properties["wort"] == "ü"
            assert len(found) == len(self.sent) + 9 * len(turns)
            for sent in list(self.sent.values())[::10]:
                self.ask_for(reader, sent)
            for turn in turns:
                assert len(reader.query_message(TOPIC, f"b-{turn}")) == 9
                assert len(reader.query_message(TOPIC, f"k-{turn}-1")) == 1

    def ask_for(self, reader: PullConsumer, sent: Sent) -> None:
        assert sent.offset_msg_id is not None
        for message_id in (sent.offset_msg_id, sent.msg_id):
            seen = reader.view_message(TOPIC, message_id)
            assert (seen.queue_id, seen.queue_offset) == (sent.queue.queue_id, sent.queue_offset)
        [by_key] = reader.query_message(TOPIC, seen.keys.split()[0] if seen.keys else "")
        assert by_key.offset_msg_id == sent.offset_msg_id


def whole_queue(reader: PullConsumer, queue: Queue) -> Iterator[Received]:
    offset, end = reader.min_offset(queue), reader.max_offset(queue)
    assert offset == 0
    while offset < end:
        result = reader.pull(queue, offset)
        assert result["pullStatus"] == "FOUND"
        assert [message.queue_offset for message in result["messages"]] == list(
            range(offset, offset + len(result["messages"]))
        )
        yield from result["messages"]
        offset = int(result["nextBeginOffset"])


@pytest.fixture
def exchange(tmp_path: Path, java_533: JavaPeer) -> Iterator[Exchange]:
    nameserver = SprocketNameServer(tmp_path / "nameserver")
    ours = SprocketBroker(tmp_path / "broker", nameserver.address, SIZES)
    apache = ApacheBroker(tmp_path / "broker", nameserver.address, SIZES, ours.port)
    nameserver.start()
    yield Exchange(java_533, nameserver, ours, apache)
    for server in (ours, apache, nameserver):
        server.kill()


@pytest.mark.parametrize("left", LEAVE)
def test_both_brokers_go_on_with_each_others_store(exchange: Exchange, left: str) -> None:
    leave = LEAVE[left]
    exchange.ours.start()
    exchange.write("ours")
    exchange.read_everything(["ours"])
    leave(exchange.ours)
    with needs_tools():
        exchange.apache.start()
    exchange.read_everything(["ours"])
    exchange.write("apache")
    exchange.read_everything(["ours", "apache"])
    leave(exchange.apache)
    exchange.ours.start()
    exchange.read_everything(["ours", "apache"])
    exchange.write("again")
    exchange.read_everything(["ours", "apache", "again"])


def delete_topic(broker: Broker) -> None:
    async def ask() -> None:
        caller = Caller(broker)
        assert (await caller(RequestCode.DELETE_TOPIC_IN_BROKER, topic=TOPIC)).code == ResponseCode.SUCCESS
        await caller.client.close(grace=0.1)

    asyncio.run(ask())


def knows_topic(reader: PullConsumer) -> bool:
    try:
        return bool(reader.queues(TOPIC))
    except PeerError:
        return False


def served(exchange: Exchange) -> dict[int, list[bytes]]:
    with exchange.java.pull_consumer("readers", exchange.address) as reader:
        wait_until(lambda: knows_topic(reader), "the topic's route")
        return {
            queue.queue_id: [message.body for message in whole_queue(reader, queue)] for queue in reader.queues(TOPIC)
        }


@pytest.mark.parametrize("left", LEAVE)
def test_a_topic_that_was_deleted_and_made_again_is_the_new_one(exchange: Exchange, left: str) -> None:
    """Apache's broker knows nothing of deletions: when it recovers from a kill it dispatches the old records again.

    A queue that has entries of the new topic takes none of them. One that has none gets its old messages back.
    """
    exchange.ours.start()
    exchange.write("old", 40)
    delete_topic(exchange.ours)
    new = [b"new %d" % number for number in range(10)]
    with exchange.java.producer("producers-new", exchange.address) as producer:
        queue = Queue(TOPIC, exchange.ours.name, 0)
        sent = [producer.send(Outgoing(TOPIC, body), queue=queue) for body in new]
        assert {result.status for result in sent} == {"SEND_OK"}
    assert served(exchange) == {0: new, 1: []}
    LEAVE[left](exchange.ours)
    with needs_tools():
        exchange.apache.start()
    after = served(exchange)
    assert after[0] == new
    if left == "stopped":
        assert after[1] == []
