"""What the pages of rocketmq-dashboard show: a topic with a message, its producer and its consumer, both alive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from tests.peers.clients import Admin, Producer, PushConsumer
from tests.peers.fixtures import CLUSTERS
from tests.peers.java_peer import JavaPeer
from tests.peers.messages import Outgoing, Queue, Sent
from tests.peers.servers import Cluster

_NUMBERS = count(1)


def number() -> int:
    """One that no other test has."""
    return next(_NUMBERS)


@dataclass(frozen=True, slots=True)
class Scene:
    """A topic with one message, its producer and its consumer, both alive, and the admin client that looks at them."""

    cluster: Cluster
    admin: Admin
    producer: Producer
    consumer: PushConsumer
    topic: str
    sent: Sent

    @property
    def broker(self) -> str:
        return self.cluster.broker.address

    @property
    def group(self) -> str:
        return self.consumer.group

    @property
    def queue(self) -> Queue:
        return self.sent.queue

    def call(self, method: str, *arguments: Any, **how: Any) -> Any:
        return self.admin.call(method, *arguments, **how)

    def new(self, prefix: str) -> str:
        return f"{prefix}-page-{number()}"

    def of_queue(self, pairs: list[dict[str, Any]]) -> Any:
        """The value that a table of queues has for the message's."""
        return next(pair["value"] for pair in pairs if Queue.from_json(pair["key"]) == self.queue)


@pytest.fixture(scope="module", params=CLUSTERS)
def scene(request: pytest.FixtureRequest, java_533: JavaPeer) -> Iterator[Scene]:
    cluster: Cluster = request.getfixturevalue(f"{request.param}_rocketmq")
    which = number()
    topic, group, producers = (f"{prefix}-dashboard-{which}" for prefix in ("topic", "consumers", "producers"))
    with (
        java_533.producer(producers, cluster.address) as producer,
        java_533.admin(cluster.address) as admin,
        java_533.push_consumer(group, cluster.address, [topic]) as consumer,
    ):
        sent = producer.send(Outgoing(topic, b"seen on a page", tags="A", keys=f"key-{which}"))
        consumer.wait(1)
        admin.call("updateConsumeOffset", cluster.broker.address, group, sent.queue, 1)
        yield Scene(cluster, admin, producer, consumer, topic, sent)
