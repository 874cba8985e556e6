"""Topics and their queues: topic -> broker name -> queues, and the same for the queue mappings of static topics.

Only names of brokers appear here; whether a broker lives is for `routes` to know. `version` moves with every change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from sprocketmq.protocol.bodies.route import QueueData, TopicQueueMappingInfo
from sprocketmq.protocol.permissions import PERM_READ, PERM_WRITE

T = TypeVar("T")


class TopicDirectory:
    def __init__(self) -> None:
        self.version = 0
        self._queues: dict[str, dict[str, QueueData]] = {}
        self._mappings: dict[str, dict[str, TopicQueueMappingInfo]] = {}

    def names(self) -> frozenset[str]:
        return frozenset(self._queues)

    def queues(self, topic: str) -> Mapping[str, QueueData]:
        return self._queues.get(topic, {})

    def mappings(self, topic: str) -> Mapping[str, TopicQueueMappingInfo]:
        return self._mappings.get(topic, {})

    def of_brokers(self, names: set[str]) -> frozenset[str]:
        return frozenset(topic for topic, queues in self._queues.items() if names & queues.keys())

    def by_flag(self, matches: Callable[[int], bool]) -> frozenset[str]:
        """Topics whose system flag `matches`; all brokers of a topic agree on it."""
        return frozenset(
            topic for topic, queues in self._queues.items() if matches(next(iter(queues.values())).topic_sys_flag)
        )

    def put(self, topic: str, queues: QueueData) -> None:
        brokers = self._queues.setdefault(topic, {})
        if brokers.get(queues.broker_name) != queues:
            brokers[queues.broker_name] = queues
            self.version += 1

    def put_mapping(self, topic: str, mapping: TopicQueueMappingInfo) -> None:
        brokers = self._mappings.setdefault(topic, {})
        if brokers.get(mapping.bname) != mapping:
            brokers[mapping.bname] = mapping
            self.version += 1

    def set_writable(self, broker_name: str, writable: bool) -> int:
        """Let producers use a broker's queues, or keep them out; how many topics that concerned."""
        topics = self.of_brokers({broker_name})
        for topic in topics:
            queues = self._queues[topic][broker_name]
            perm = PERM_READ | PERM_WRITE if writable else queues.perm & ~PERM_WRITE
            self.put(topic, replace(queues, perm=perm))
        return len(topics)

    def drop(self, topic: str, broker_name: str) -> None:
        _drop(self._queues, topic, broker_name)
        _drop(self._mappings, topic, broker_name)
        self.version += 1

    def drop_broker(self, broker_name: str) -> None:
        for topic in self.of_brokers({broker_name}):
            self.drop(topic, broker_name)


def _drop(table: dict[str, dict[str, T]], topic: str, broker_name: str) -> None:
    """A topic that no broker has is no topic."""
    brokers = table.get(topic, {})
    brokers.pop(broker_name, None)
    if not brokers:
        table.pop(topic, None)
