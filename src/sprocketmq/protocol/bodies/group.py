"""Consumer groups of a broker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.protocol.enums import GroupRetryPolicyType
from sprocketmq.protocol.fields import Long, wire

_MINUTE = 60
RETRY_DELAYS_MS = tuple(
    1000 * seconds
    for seconds in (1, 5, 10, 30, *(_MINUTE * m for m in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 60, 120)))
)
"""How long a failed message rests before its next try, by the number of tries; the delay levels from 1 on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialRetryPolicy:
    initial: Long = wire("initial", default=5000)
    max: Long = wire("max", default=7200000)
    multiplier: Long = wire("multiplier", default=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomizedRetryPolicy:
    next: tuple[Long, ...] = wire("next", default=RETRY_DELAYS_MS)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRetryPolicy:
    type: GroupRetryPolicyType = wire("type", default=GroupRetryPolicyType.CUSTOMIZED)
    exponential_retry_policy: ExponentialRetryPolicy | None = wire("exponentialRetryPolicy", default=None)
    customized_retry_policy: CustomizedRetryPolicy | None = wire("customizedRetryPolicy", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleSubscriptionData:
    topic: str = wire("topic", default="")
    expression_type: str = wire("expressionType", default="")
    expression: str = wire("expression", default="")
    version: Long = wire("version", default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionGroupConfig:
    group_name: str = wire("groupName", default="")
    consume_enable: bool = wire("consumeEnable", default=True)
    consume_from_min_enable: bool = wire("consumeFromMinEnable", default=True)
    consume_broadcast_enable: bool = wire("consumeBroadcastEnable", default=True)
    consume_message_orderly: bool = wire("consumeMessageOrderly", default=False)
    retry_queue_nums: int = wire("retryQueueNums", default=1)
    retry_max_times: int = wire("retryMaxTimes", default=16)
    group_retry_policy: GroupRetryPolicy = wire("groupRetryPolicy", default_factory=GroupRetryPolicy)
    broker_id: Long = wire("brokerId", default=0)
    which_broker_when_consume_slowly: Long = wire("whichBrokerWhenConsumeSlowly", default=1)
    notify_consumer_ids_changed_enable: bool = wire("notifyConsumerIdsChangedEnable", default=True)
    group_sys_flag: int = wire("groupSysFlag", default=0)
    consume_timeout_minute: int = wire("consumeTimeoutMinute", default=15)
    subscription_data_set: tuple[SimpleSubscriptionData, ...] = wire("subscriptionDataSet", default=(), omit_empty=True)
    attributes: Mapping[str, str] = wire("attributes", default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionGroupWrapper:
    subscription_group_table: Mapping[str, SubscriptionGroupConfig] = wire(
        "subscriptionGroupTable", default_factory=dict
    )
    data_version: DataVersion = wire("dataVersion", default_factory=DataVersion)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionGroupList:
    group_config_list: tuple[SubscriptionGroupConfig, ...] = wire("groupConfigList", default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupForbidden:
    topic: str = wire("topic", default="")
    group: str = wire("group", default="")
    readable: bool | None = wire("readable", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupList:
    group_list: frozenset[str] = wire("groupList", default=frozenset())
