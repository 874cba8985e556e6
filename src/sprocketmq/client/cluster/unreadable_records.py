"""Records that cannot be read: each is told at WARNING with its queue and offset, passed over, and ends nothing.

A pull answer is cut at the first bytes that are no record, for behind them nobody knows where the next one begins: what
lies before is handed out, the one offset is passed over, and the next pull begins after it. When the record before them
cannot be read, it is the one: its size led there. A record whose head is whole and whose rest is not (its parts, its
checksums) is found when it is read, and passed over alone.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from sprocketmq.client.received import ReceivedMessage, split_whole
from sprocketmq.client.subscription import Subscription
from sprocketmq.errors import BodyError
from sprocketmq.protocol.message_queue import MessageQueue

log = logging.getLogger("sprocketmq.client.cluster.unreadable_records")


def split(data: bytes, queue: MessageQueue, begin: int, next_offset: int) -> tuple[list[ReceivedMessage], int]:
    """The messages of a pull from offset `begin`, and where the next pull has to begin."""
    messages, damage, claimed = split_whole(data, queue.broker_name)
    if damage is None:
        return messages, next_offset
    if messages and not _is_readable(messages[-1]):
        claimed = messages.pop().queue_offset
    first = messages[-1].queue_offset + 1 if messages else begin
    bad = claimed if first <= claimed < next_offset else first  # a filter may have left out what lies between
    _report(queue, bad, damage)
    return messages, bad + 1


def select(subscription: Subscription, messages: list[ReceivedMessage], queue: MessageQueue) -> list[ReceivedMessage]:
    """The wanted ones; to look at their tags is to read them."""
    try:
        return subscription.select(messages)
    except BodyError:
        return subscription.select(readable(messages, queue))


def readable(messages: Sequence[ReceivedMessage], queue: MessageQueue) -> list[ReceivedMessage]:
    """Those that can be read; the others are told."""
    kept = []
    for message in messages:
        try:
            _ = message.record
        except BodyError as error:
            _report(queue, message.queue_offset, error)
        else:
            kept.append(message)
    return kept


def _is_readable(message: ReceivedMessage) -> bool:
    try:
        _ = message.record
    except BodyError:
        return False
    return True


def _report(queue: MessageQueue, offset: int, reason: object) -> None:
    log.warning("unreadable record skipped queue=%s offset=%d reason=%s", queue, offset, reason)
