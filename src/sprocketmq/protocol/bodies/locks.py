"""Locks on queues, held by orderly consumers."""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.fields import wire
from sprocketmq.protocol.message_queue import MessageQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class LockBatchRequestBody:
    consumer_group: str = wire("consumerGroup", default="")
    client_id: str = wire("clientId", default="")
    only_this_broker: bool = wire("onlyThisBroker", default=False)
    mq_set: frozenset[MessageQueue] = wire("mqSet", default=frozenset())


@dataclass(frozen=True, slots=True, kw_only=True)
class LockBatchResponseBody:
    lock_okmqset: frozenset[MessageQueue] = wire("lockOKMQSet", default=frozenset())


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlockBatchRequestBody:
    consumer_group: str = wire("consumerGroup", default="")
    client_id: str = wire("clientId", default="")
    only_this_broker: bool = wire("onlyThisBroker", default=False)
    mq_set: frozenset[MessageQueue] = wire("mqSet", default=frozenset())
