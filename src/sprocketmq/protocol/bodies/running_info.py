"""The inside of a running consumer, as it reports it on request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sprocketmq.protocol.bodies.heartbeat import SubscriptionData
from sprocketmq.protocol.enums import CMResult
from sprocketmq.protocol.fields import Long, wire
from sprocketmq.protocol.message_queue import MessageQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessQueueInfo:
    commit_offset: Long = wire("commitOffset", default=0)
    cached_msg_min_offset: Long = wire("cachedMsgMinOffset", default=0)
    cached_msg_max_offset: Long = wire("cachedMsgMaxOffset", default=0)
    cached_msg_count: int = wire("cachedMsgCount", default=0)
    cached_msg_size_in_mi_b: int = wire("cachedMsgSizeInMiB", default=0)
    transaction_msg_min_offset: Long = wire("transactionMsgMinOffset", default=0)
    transaction_msg_max_offset: Long = wire("transactionMsgMaxOffset", default=0)
    transaction_msg_count: int = wire("transactionMsgCount", default=0)
    locked: bool = wire("locked", default=False)
    try_unlock_times: Long = wire("tryUnlockTimes", default=0)
    last_lock_timestamp: Long = wire("lastLockTimestamp", default=0)
    droped: bool = wire("droped", default=False)
    last_pull_timestamp: Long = wire("lastPullTimestamp", default=0)
    last_consume_timestamp: Long = wire("lastConsumeTimestamp", default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PopProcessQueueInfo:
    wait_ack_count: int = wire("waitAckCount", default=0)
    droped: bool = wire("droped", default=False)
    last_pop_timestamp: Long = wire("lastPopTimestamp", default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeStatus:
    pull_rt: float = wire("pullRT", default=0.0)
    pull_tps: float = wire("pullTPS", default=0.0)
    consume_rt: float = wire("consumeRT", default=0.0)
    consume_ok_tps: float = wire("consumeOKTPS", default=0.0)
    consume_failed_tps: float = wire("consumeFailedTPS", default=0.0)
    consume_failed_msgs: Long = wire("consumeFailedMsgs", default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerRunningInfo:
    properties: Mapping[str, str] = wire("properties", default_factory=dict)
    subscription_set: tuple[SubscriptionData, ...] = wire("subscriptionSet", default=())
    mq_table: Mapping[MessageQueue, ProcessQueueInfo] = wire("mqTable", default_factory=dict)
    mq_pop_table: Mapping[MessageQueue, PopProcessQueueInfo] = wire("mqPopTable", default_factory=dict)
    status_table: Mapping[str, ConsumeStatus] = wire("statusTable", default_factory=dict)
    user_consumer_info: Mapping[str, str] = wire("userConsumerInfo", default_factory=dict)
    jstack: str | None = wire("jstack", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeMessageDirectlyResult:
    order: bool = wire("order", default=False)
    auto_commit: bool = wire("autoCommit", default=True)
    consume_result: CMResult | None = wire("consumeResult", default=None)
    remark: str | None = wire("remark", default=None)
    spent_time_mills: Long = wire("spentTimeMills", default=0)
