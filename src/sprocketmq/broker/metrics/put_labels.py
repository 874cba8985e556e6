"""The labels of what was put into a topic, as RocketMQ 5 has them."""

from __future__ import annotations

from sprocketmq.metrics.exposition import Labels
from sprocketmq.protocol.names import SCHEDULE_TOPIC, TIMER_TOPIC, TRANSACTION_HALF_TOPIC, is_system_topic

#: What waits is told by the topic in which it waits. Counting by topic alone is what keeps a send cheap, so that a
#: message that arrives after its wait is a normal one.
_TYPES = {SCHEDULE_TOPIC: "delay", TIMER_TOPIC: "delay", TRANSACTION_HALF_TOPIC: "transaction"}


def put_labels(topic: str) -> Labels:
    is_system = "true" if is_system_topic(topic) else "false"
    return {"topic": topic, "message_type": _TYPES.get(topic, "normal"), "is_system": is_system}
