"""Where the queues of a topic are.

A route is what a nameserver says of one topic: brokers with their addresses, and how many queues each has. From it come
    write queues    on brokers whose master is known and whose permission allows writing
    read queues     whose permission allows reading, on master or slave
both sorted, so that every client sees the same order. The queues of a static topic are its logical ones in the order
of their ids, each on the broker that leads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from sprocketmq.client.cluster.static_topics import leaders
from sprocketmq.protocol.bodies.route import TopicRouteData
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.permissions import PERM_READ, PERM_WRITE

MASTER = 0
AUTO_CREATE_TOPIC = "TBW102"


@dataclass(frozen=True)
class Route:
    """One topic's brokers and queues."""

    topic: str
    addresses: Mapping[str, Mapping[int, str]]  # broker name to broker id to address
    clusters: Mapping[str, str]  # broker name to cluster
    write_counts: Mapping[str, int]
    read_counts: Mapping[str, int]
    order_conf: str = ""
    logical: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # of a static topic: broker name to queue ids

    @cached_property
    def write_queues(self) -> tuple[MessageQueue, ...]:
        if self.order_conf:  # a fixed list keeps an ordered topic in order while a broker is away
            return _ordered(self.topic, self.order_conf)
        with_master = {name: n for name, n in self.write_counts.items() if MASTER in self.addresses.get(name, {})}
        return self._queues(with_master)

    @cached_property
    def read_queues(self) -> tuple[MessageQueue, ...]:
        return self._queues(self.read_counts)

    def _queues(self, counts: Mapping[str, int]) -> tuple[MessageQueue, ...]:
        if self.logical:
            led = sorted((queue_id, name) for name in counts for queue_id in self.logical.get(name, ()))
            return tuple(MessageQueue(self.topic, name, queue_id) for queue_id, name in led)
        return tuple(MessageQueue(self.topic, name, i) for name in sorted(counts) for i in range(counts[name]))

    @cached_property
    def replicated(self) -> frozenset[str]:
        """Names of brokers that have slaves: one of those could become the master when that is gone."""
        return frozenset(name for name, replicas in self.addresses.items() if set(replicas) - {MASTER})

    def master(self, broker_name: str) -> str | None:
        return self.addresses.get(broker_name, {}).get(MASTER)

    def address(self, broker_name: str, broker_id: int = MASTER) -> str | None:
        """The address of that replica, or of any other when it is gone: reads work from a slave."""
        replicas = self.addresses.get(broker_name, {})
        return replicas.get(broker_id) or next((replicas[i] for i in sorted(replicas)), None)

    @classmethod
    def of(cls, topic: str, data: TopicRouteData) -> Route:
        return cls(
            topic,
            {broker.broker_name: dict(broker.broker_addrs) for broker in data.broker_datas},
            {broker.broker_name: broker.cluster for broker in data.broker_datas},
            {q.broker_name: q.write_queue_nums for q in data.queue_datas if q.perm & PERM_WRITE},
            {q.broker_name: q.read_queue_nums for q in data.queue_datas if q.perm & PERM_READ},
            data.order_topic_conf or "",
            leaders(data.topic_queue_mapping_by_broker),
        )


def _ordered(topic: str, conf: str) -> tuple[MessageQueue, ...]:
    """`broker-a:4;broker-b:2`, in that order."""
    pairs = (part.partition(":") for part in conf.split(";") if part)
    return tuple(MessageQueue(topic, name, i) for name, _, count in pairs for i in range(int(count)))
