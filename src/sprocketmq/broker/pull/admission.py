"""May a group read a topic, and what does it want of it? Asked once for many pulls, see `handler`.

A pull brings the text of its subscription along, or means the one that the group's heartbeats told. A pull of a static
topic is about a logical queue unless it says otherwise, and those have a way of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from sprocketmq.broker.pull.cold_data import ColdReads
from sprocketmq.broker.pull.handler import PullAdmission, PullRefused
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.static_topic.handler import LogicalRequests
from sprocketmq.broker.tables.group_members import ConsumerTable
from sprocketmq.broker.tables.groups import GroupTable
from sprocketmq.broker.tables.offsets import key_of
from sprocketmq.broker.tables.subscriptions import TAG, PropertyRule, Wanted, filter_bytes, wanted_by
from sprocketmq.broker.tables.topics import TopicTable
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import FilterError, RequestRefused
from sprocketmq.protocol.bodies.group import SubscriptionGroupConfig
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.enums import ConsumeType
from sprocketmq.protocol.names import is_system_group
from sprocketmq.protocol.permissions import PERM_READ
from sprocketmq.protocol.requests.pull import SUBSCRIPTION, PullRequest
from sprocketmq.remoting import Connection, Reply

#: Why NO_PERMISSION was answered, for clients that tell one from the other.
BROKER_FORBIDDEN, GROUP_FORBIDDEN, TOPIC_FORBIDDEN, BROADCASTING_FORBIDDEN, SUBSCRIPTION_FORBIDDEN = 1, 2, 3, 4, 5

#: A longer expression costs its address what it takes to compile, and as much again for what it pushes out of the
#: processor's memory (remoting/costs.py).
_LONG_TEXT = 1024


class PullRules:
    def __init__(
        self, settings: Settings, topics: TopicTable, groups: GroupTable, consumers: ConsumerTable, cold: ColdReads,
        logical: LogicalRequests, check_role: Callable[[], object],
    ) -> None:  # fmt: skip
        self._settings = settings
        self._topics = topics
        self._groups = groups
        self._consumers = consumers
        self._cold = cold
        self._logical = logical
        self._check_role = check_role

    def is_logical(self, request: Command, pull: PullRequest) -> bool:
        return self._logical.owns(pull.topic, request)

    def forward(self, connection: Connection, request: Command) -> Reply:
        return self._logical.take(connection, request)

    def has_topic(self, topic: str) -> bool:
        return self._topics.get(topic) is not None

    def admit(self, connection: Connection, request: Command, pull: PullRequest) -> PullAdmission:
        """Raises RequestRefused, or PullRefused where the answer tells the reason as a number too."""
        config = self._settings.current
        self._check_role()
        group = self._group(connection, request, pull)
        topic = self._topic(pull)
        carried = pull.sys_flag & SUBSCRIPTION
        wanted = self._carried(connection, pull) if carried else self._registered(pull, group)
        if isinstance(wanted, PropertyRule) and not config.enable_property_filter:
            remark = "this broker does not filter by properties; its enablePropertyFilter is false"
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
        admission = PullAdmission(pull, wanted, key_of(pull.consumer_group, pull.topic), topic.read_queue_nums)
        admission.lasts = pull.topic not in self._logical.topics and (bool(carried) or self._holds(group))
        if carried:
            admission.filter_bytes = filter_bytes(pull.subscription or "", wanted)
        else:
            admission.sub_version = (
                self._consumers.groups[pull.consumer_group].subscriptions[pull.topic].data.sub_version
            )
        admission.takes_lite = config.lite_pull_message_enable
        admission.is_counted = not is_system_group(pull.consumer_group)
        admission.reads_cold = self._cold.is_on
        admission.topic_sys_flag, admission.group_sys_flag = topic.topic_sys_flag, group.group_sys_flag
        if config.slave_read_enable:
            admission.broker_id, admission.slow_broker_id = group.broker_id, group.which_broker_when_consume_slowly
        return admission

    def _holds(self, group: SubscriptionGroupConfig) -> bool:
        """Whether no heartbeat can change what `_registered` found, but one that closes all admissions."""
        return not self._settings.current.reject_pull_consumer_enable and group.consume_broadcast_enable

    # -- may it? ------------------------------------------------------------------------------------------------------

    def _group(self, connection: Connection, request: Command, pull: PullRequest) -> SubscriptionGroupConfig:
        config = self._settings.current
        if not config.broker_permission & PERM_READ:
            raise PullRefused(BROKER_FORBIDDEN, "this broker may not be read")
        if request.code == RequestCode.LITE_PULL_MESSAGE and not config.lite_pull_message_enable:
            raise PullRefused(BROKER_FORBIDDEN, "lite pulls are switched off on this broker")
        group = self._groups.get(pull.consumer_group, connection.peer)
        if group is None:
            remark = f"no group {pull.consumer_group}, and it is not created by a pull"
            raise RequestRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, remark)
        if not group.consume_enable:
            raise PullRefused(GROUP_FORBIDDEN, f"group {pull.consumer_group} may not consume")
        return group

    def _topic(self, pull: PullRequest) -> TopicConfig:
        topic = self._topics.get(pull.topic)
        if topic is None:
            raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, f"no topic {pull.topic}")
        if not topic.readable:
            raise PullRefused(TOPIC_FORBIDDEN, f"topic {pull.topic} may not be read")
        if self._groups.forbidden and self._groups.is_forbidden(pull.consumer_group, pull.topic, PERM_READ):
            raise PullRefused(SUBSCRIPTION_FORBIDDEN, f"group {pull.consumer_group} may not read {pull.topic}")
        if not 0 <= pull.queue_id < topic.read_queue_nums:
            remark = f"topic {pull.topic} has {topic.read_queue_nums} queues to read, there is no queue {pull.queue_id}"
            raise RequestRefused(ResponseCode.INVALID_PARAMETER, remark)
        return topic

    # -- what does it want? -------------------------------------------------------------------------------------------

    def _carried(self, connection: Connection, pull: PullRequest) -> Wanted:
        """The pull brought its subscription along."""
        text = pull.subscription or ""
        is_long = len(text) > _LONG_TEXT
        began = time.thread_time_ns() if is_long else 0
        try:
            return wanted_by(pull.expression_type or TAG, text)
        except FilterError as error:
            raise RequestRefused(ResponseCode.SUBSCRIPTION_PARSE_FAILED, str(error)) from None
        finally:
            if is_long:
                connection.cost_ns += 2 * (time.thread_time_ns() - began)

    def _registered(self, pull: PullRequest, config: SubscriptionGroupConfig) -> Wanted:
        """What the group's heartbeats told."""
        group = self._consumers.get(pull.consumer_group)
        if group is None:
            remark = f"no consumer of group {pull.consumer_group} is known here"
            raise RequestRefused(ResponseCode.SUBSCRIPTION_NOT_EXIST, remark)
        if group.is_broadcasting and not config.consume_broadcast_enable:
            raise PullRefused(BROADCASTING_FORBIDDEN, f"group {pull.consumer_group} may not consume by broadcasting")
        if self._settings.current.reject_pull_consumer_enable and group.consume_type is ConsumeType.CONSUME_ACTIVELY:
            raise PullRefused(GROUP_FORBIDDEN, "this broker serves no pull consumers")
        subscription = group.subscriptions.get(pull.topic)
        if subscription is None:
            remark = f"group {pull.consumer_group} does not subscribe to {pull.topic}"
            raise RequestRefused(ResponseCode.SUBSCRIPTION_NOT_EXIST, remark)
        if subscription.data.sub_version < pull.sub_version:
            remark = f"the subscription of group {pull.consumer_group} is not the latest"
            raise RequestRefused(ResponseCode.SUBSCRIPTION_NOT_LATEST, remark)
        return subscription.wanted
