"""Offset maps: one offset per queue. As JSON, in options and in checkpoints, they are topic -> broker -> queue:

{"orders": {"broker-a": {"0": 17, "1": -2}}}        -2 is the earliest, -1 the latest, in options only
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.spark.options.options import OptionError

EARLIEST, LATEST = -2, -1

Offsets = dict[MessageQueue, int]


def encode_offsets(offsets: Mapping[MessageQueue, int]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for queue, offset in sorted(offsets.items()):
        found.setdefault(queue.topic, {}).setdefault(queue.broker_name, {})[str(queue.queue_id)] = offset
    return found


def decode_offsets(given: Any, name: str = "offsets") -> Offsets:
    """The map in a JSON value; an OptionError that names `name` for anything else."""
    try:
        return {
            MessageQueue(topic, broker, int(queue_id)): int(offset)
            for topic, brokers in given.items()
            for broker, queues in brokers.items()
            for queue_id, offset in queues.items()
        }
    except (AttributeError, TypeError, ValueError):
        raise OptionError(name, 'is JSON like {"topic": {"broker": {"0": 17}}}') from None


def decode_queues(given: Any, name: str) -> list[MessageQueue]:
    """`assign`: topic -> broker -> list of queue ids."""
    try:
        return sorted(
            MessageQueue(topic, broker, int(queue_id))
            for topic, brokers in given.items()
            for broker, queue_ids in brokers.items()
            for queue_id in queue_ids
        )
    except (AttributeError, TypeError, ValueError):
        raise OptionError(name, 'is JSON like {"topic": {"broker": [0, 1]}}') from None
