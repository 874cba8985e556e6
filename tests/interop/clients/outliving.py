"""What a broker has under way when it goes away: every kind of message, with real clients, on one broker.

Each case opens its clients, sends, gets as far as it must before the end, and after it goes on. All cases take each of
these steps before any takes the next, then the tests wait for theirs: so Apache's slow starts and the waits for delays
are paid once, at the same time.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any

from tests.interop.clients.running_load import TransactionLoad
from tests.peers import probe
from tests.peers.clients import Producer, PushConsumer
from tests.peers.fixtures import Peer, Unique
from tests.peers.java_peer import JavaPeer
from tests.peers.lines import PeerError
from tests.peers.messages import Outgoing
from tests.peers.process import eventually
from tests.peers.servers import Cluster

from sprocketmq.protocol.record.record import decode_records

#: Level 1 is for what comes in the middle, 2 for what rests meanwhile, 3 and on are those of retries.
QUICK = {
    "messageDelayLevel": "1s 6s 1s 1s 1s 1s",
    "recallMessageEnable": "true",
    "transactionCheckInterval": "1000",
    "transactionTimeOut": "1000",
    "transactionCheckMax": "1000",
}
MIDDLE_LEVEL, REST_LEVEL, REST_MS = 1, 2, 6000
TIMER_MS, RECALLED_SECONDS = 6500, 6
POP_MESSAGE, POP_INVISIBLE_MS, POPPED = 200050, 5000, 5


def numbered(prefix: str, count: int) -> list[bytes]:
    return [f"{prefix}-{number}".encode() for number in range(count)]


class Scene:
    """`stack` closes every client that the cases open; `exact` where the broker delivers nothing twice.

    Apache's broker delivers again, after a kill, what it had not noted yet.
    """

    def __init__(self, cluster: Cluster, end: str, stack: ExitStack, unique: Unique, peers: dict[str, Peer]) -> None:
        self.cluster, self.end, self.peers = cluster, end, peers
        self.exact = cluster.kind == "sprocket" or end == "stop"
        self._stack, self._unique = stack, unique
        self._producers: dict[int, Producer] = {}
        self.java, self.java_json = java_peer(peers["java_533"]), java_peer(peers["java_533_json"])
        clients = {name: peer for name, peer in peers.items() if peer is not self.java_json}
        self.retries = {name: Retry(self, peer) for name, peer in clients.items()}
        self.dead = {name: DeadLetter(self, peer) for name, peer in clients.items() if name != "go"}
        self.transactions = {name: Transactions(self, peer) for name, peer in clients.items()}
        self.order, self.pop, self.load, self.timers = Order(self), Pop(self), Load(self), Timers(self)
        self.rest = Delays(self, numbered("rest", 20), REST_LEVEL)
        self.middle = Delays(self, numbered("middle", 300), MIDDLE_LEVEL)

    def play(self) -> None:
        """Everything is under way, the broker ends, it comes back."""
        cases: list[Case] = [
            *self.retries.values(), *self.dead.values(), *self.transactions.values(), self.order, self.pop, self.load,
            self.timers, self.rest, self.middle,
        ]  # fmt: skip
        for case in cases:
            case.send()
        for case in cases:
            case.settle()
        getattr(self.cluster.broker, self.end)()
        self.cluster.broker.start()
        for case in cases:
            case.go_on()

    def producer(self, peer: Peer) -> Producer:
        """The one that sends for all cases of a peer."""
        if id(peer) not in self._producers:
            producer = peer.producer(self._unique("producers"), self.cluster.address)
            self._producers[id(peer)] = self._stack.enter_context(producer)
        return self._producers[id(peer)]

    def transactional(self, peer: Peer) -> Producer:
        producer = peer.producer(self._unique("producers"), self.cluster.address, transactional=True)
        return self._stack.enter_context(producer)

    def consumer(self, peer: Peer, topic: str, group: str | None = None, **how: Any) -> PushConsumer:
        named = group or self._unique("consumers")
        return self._stack.enter_context(peer.push_consumer(named, self.cluster.address, [topic], **how))

    def topic(self, peer: Peer) -> str:
        """A new one that has a message and a route: a Go consumer starts for no other."""
        topic = self._unique("topic")
        self.producer(peer).send(Outgoing(topic, b"first"))
        eventually(lambda: probe.routes_to(self.cluster.address, self.cluster.broker.address, topic), f"route {topic}")
        return topic

    def pop_group(self, topic: str) -> str:
        """A group whose consumers POP."""
        group = self._unique("consumers")
        with self.java_json.admin(self.cluster.address) as admin:
            admin.call("setMessageRequestMode", self.cluster.broker.address, topic, group, "POP", 8, 5000)
        return group

    def messages_in(self, topic: str) -> int:
        """How many the topic has ever had."""
        with self.java.admin(self.cluster.address) as admin:
            table = admin.call("examineTopicStats", topic)["offsetTable"]
        return sum(int(pair["value"]["maxOffset"]) for pair in table)


def java_peer(peer: Peer) -> JavaPeer:
    assert isinstance(peer, JavaPeer)
    return peer


class Case:
    """Making one opens its clients."""

    def send(self) -> None:
        """Send what is to be under way."""

    def settle(self) -> None:
        """Wait until it is as far as it must be when the broker ends."""

    def go_on(self) -> None:
        """The broker is back."""


class Delays(Case):
    """Messages of one delay level; the broker ends as soon as some have come when that is the level of the middle."""

    def __init__(self, scene: Scene, bodies: list[bytes], level: int) -> None:
        self.expected, self._level = bodies, level
        self._producer, self._topic = scene.producer(scene.java), scene.topic(scene.java)
        self.consumer = scene.consumer(scene.java, self._topic)

    def send(self) -> None:
        delayed = [Outgoing(self._topic, body, delay_level=self._level) for body in self.expected]
        self._producer.send_all(delayed, "async")

    def settle(self) -> None:
        if self._level == MIDDLE_LEVEL:
            self.consumer.wait(20)


class Timers(Case):
    """Timers of any length, and one that is recalled."""

    def __init__(self, scene: Scene) -> None:
        self.expected = numbered("timer", 10)
        self._producer, self._topic = scene.producer(scene.java), scene.topic(scene.java)
        self.consumer = scene.consumer(scene.java, self._topic)

    def send(self) -> None:
        recalled = self._producer.send(Outgoing(self._topic, b"recalled", delay_sec=RECALLED_SECONDS))
        assert self._producer.call("recallMessage", self._topic, recalled.raw["recallHandle"]) == recalled.msg_id
        self._producer.send_all([Outgoing(self._topic, body, delay_ms=TIMER_MS) for body in self.expected])


class Retry(Case):
    """Messages that fail once and come back before the end; the consumer sees them no more after it."""

    def __init__(self, scene: Scene, peer: Peer) -> None:
        self._producer, self._topic = scene.producer(peer), scene.topic(peer)
        self.consumer = scene.consumer(peer, self._topic, script={"failTimes": 1})

    def send(self) -> None:
        self._producer.send_all([Outgoing(self._topic, body) for body in numbered("retry", 4)])

    def settle(self) -> None:
        self.consumer.wait(10)

    def go_on(self) -> None:
        self.consumer.script(failTimes=0)
        send_when_possible(self._producer, Outgoing(self._topic, b"last"))


class DeadLetter(Case):
    """A message that fails more often than its group allows; the broker ends between its tries."""

    def __init__(self, scene: Scene, peer: Peer) -> None:
        self._producer, self._topic = scene.producer(peer), scene.topic(peer)
        self.consumer = scene.consumer(peer, self._topic)
        self.consumer.call("setMaxReconsumeTimes", 2, types=["int"])

    def send(self) -> None:
        self.consumer.wait_bodies([b"first"])
        self.consumer.script(failTimes=99)
        self._producer.send(Outgoing(self._topic, b"poison", tags="A"))

    def settle(self) -> None:
        self.consumer.wait_bodies([b"poison"])


class Order(Case):
    """Two orderly consumers share the queues; their locks are gone with the broker."""

    def __init__(self, scene: Scene) -> None:
        self._producer, self._topic = scene.producer(scene.java), scene.topic(scene.java)
        one = scene.consumer(scene.java, self._topic, orderly=True)
        self.consumers = [one, scene.consumer(scene.java, self._topic, one.group, orderly=True)]
        self.expected = numbered("order", 40)

    def send(self) -> None:
        self._send(self.expected[:20])

    def settle(self) -> None:
        eventually(lambda: all(consumer.received() for consumer in self.consumers), "messages for both")

    def go_on(self) -> None:
        send_when_possible(self._producer, Outgoing(self._topic, self.expected[20]), shard="0")
        self._send(self.expected[21:])

    def _send(self, some: list[bytes]) -> None:
        for body in some:
            shard = int(body.rpartition(b"-")[2]) % 4
            self._producer.send(Outgoing(self._topic, body), shard=str(shard))


class Pop(Case):
    """Messages that were handed out and never acknowledged, and messages that nobody took yet."""

    def __init__(self, scene: Scene) -> None:
        self._scene, self._topic = scene, scene.topic(scene.java)
        self._group = scene.pop_group(self._topic)
        self.expected = [b"first", *numbered("pop", 9)]

    def send(self) -> None:
        self._scene.producer(self._scene.java).send_all([Outgoing(self._topic, body) for body in self.expected[1:]])
        self.popped_ms, popped = now_ms(), 0
        while popped < POPPED:
            popped += pop_without_ack(self._scene.cluster.broker.address, self._topic, self._group)

    def settle(self) -> None:
        options = {"clientRebalance": False, "popInvisibleTime": POP_INVISIBLE_MS}
        self.consumer = self._scene.consumer(self._scene.java_json, self._topic, self._group, options=options)


class Transactions(Case):
    """Ended ones, and open ones whose producer knows their end only after the broker is back."""

    def __init__(self, scene: Scene, peer: Peer) -> None:
        self.done, self.open = numbered("done", 5), numbered("open", 5)
        self._producer, self._topic = scene.transactional(peer), scene.topic(peer)
        self.consumer = scene.consumer(peer, self._topic)
        self._producer.answer_checks("UNKNOW")

    def send(self) -> None:
        for number in range(5):
            self._producer.transact(Outgoing(self._topic, self.done[number]), "COMMIT_MESSAGE")
            self._producer.transact(Outgoing(self._topic, self.open[number]), "UNKNOW")
            self._producer.transact(Outgoing(self._topic, b"void-%d" % number, keys="r"), "ROLLBACK_MESSAGE")
            self._producer.transact(Outgoing(self._topic, b"open void-%d" % number, keys="r"), "UNKNOW")

    def settle(self) -> None:
        self.consumer.wait_bodies(self.done)

    def go_on(self) -> None:
        self._producer.answer_checks("COMMIT_MESSAGE", by_key={"r": ["ROLLBACK_MESSAGE"]})


class Load(Case):
    """Transactions that go on while the broker ends and comes back."""

    def __init__(self, scene: Scene) -> None:
        self.topic = scene.topic(scene.java)
        self.consumer = scene.consumer(scene.java, self.topic)
        self.transactions = TransactionLoad(scene.transactional(scene.java), self.topic)

    def settle(self) -> None:
        self.transactions.start()
        self.consumer.wait(5)

    def go_on(self) -> None:
        self.transactions.finish()


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def send_when_possible(producer: Producer, message: Outgoing, **how: Any) -> None:
    """The first send after the broker is back: a client may still hold the connection that broke."""

    def sent() -> bool:
        try:
            producer.send(message, **how)
        except PeerError:
            return False
        return True

    eventually(sent, "a send to the broker that is back")


def pop_without_ack(broker: str, topic: str, group: str) -> int:
    """How many messages the broker handed out; nobody will acknowledge them."""
    fields = {
        "consumerGroup": group, "topic": topic, "queueId": "-1", "maxMsgNums": str(POPPED), "pollTime": "0",
        "invisibleTime": str(POP_INVISIBLE_MS), "bornTime": str(now_ms()), "initMode": "0", "order": "false",
        "expType": "TAG", "exp": "*",
    }  # fmt: skip
    _code, body = probe.ask(broker, POP_MESSAGE, fields)
    return sum(1 for _record in decode_records(body))
