"""One queue of a topic on a broker: the unit of ordering, locking and rebalancing."""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.fields import wire


@dataclass(frozen=True, slots=True, order=True)
class MessageQueue:
    """Ordered by topic, broker name and queue id, as Java's TreeMaps have it."""

    topic: str = wire("topic", default="")
    broker_name: str = wire("brokerName", default="")
    queue_id: int = wire("queueId", default=0)

    def __str__(self) -> str:
        return f"{self.topic}@{self.broker_name}:{self.queue_id}"
