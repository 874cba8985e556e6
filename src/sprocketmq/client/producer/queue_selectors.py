"""Which queue a message goes to.

A selector gets the message and the topic's writable queues, sorted, and returns one of them. Messages that must stay in
order need a selector that gives the same queue for the same key as long as the number of queues stays.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from sprocketmq.client.message import Message
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.record.hashing import string_hash

QueueSelector = Callable[[Message, Sequence[MessageQueue]], MessageQueue]


def by_hash(key: str) -> QueueSelector:
    """The queue of `key`, as Java's SelectMessageQueueByHash chooses it for a String."""

    def select(_message: Message, queues: Sequence[MessageQueue]) -> MessageQueue:
        return queues[abs(string_hash(key)) % len(queues)]

    return select


def by_sharding_key(message: Message, queues: Sequence[MessageQueue]) -> MessageQueue:
    """The queue of the message's `sharding_key`; a message without one goes anywhere."""
    if message.sharding_key is None:
        return by_random(message, queues)
    return by_hash(message.sharding_key)(message, queues)


def by_random(_message: Message, queues: Sequence[MessageQueue]) -> MessageQueue:
    return random.choice(queues)  # noqa: S311 - spreads load
