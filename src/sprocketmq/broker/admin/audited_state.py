"""What the audit shows of topics, groups, offsets and settings before and after a change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sprocketmq.codes import RequestCode as C
from sprocketmq.properties_file import parse_properties
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.group import SubscriptionGroupConfig, SubscriptionGroupList
from sprocketmq.protocol.bodies.topic import CreateTopicListRequestBody
from sprocketmq.protocol.command import Command

if TYPE_CHECKING:
    from sprocketmq.auth.audit.trail import Look
    from sprocketmq.broker.broker import Broker


def broker_looks(broker: Broker) -> dict[int, Look]:
    looks = _Looks(broker)
    return {
        C.UPDATE_AND_CREATE_TOPIC: looks.topic,
        C.UPDATE_AND_CREATE_STATIC_TOPIC: looks.topic,
        C.UPDATE_AND_CREATE_TOPIC_LIST: looks.topics,
        C.DELETE_TOPIC_IN_BROKER: looks.topic,
        C.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: looks.group,
        C.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: looks.groups,
        C.DELETE_SUBSCRIPTIONGROUP: looks.named_group,
        C.UPDATE_BROKER_CONFIG: looks.settings,
        C.INVOKE_BROKER_TO_RESET_OFFSET: looks.offsets,
        C.CLONE_GROUP_OFFSET: looks.offsets,
    }


class _Looks:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def topic(self, request: Command) -> str:
        return self._topics([_field(request, "topic")])

    def topics(self, request: Command) -> str:
        configs = codec.decode(CreateTopicListRequestBody, request.body).topic_config_list
        return self._topics([config.topic_name for config in configs])

    def group(self, request: Command) -> str:
        return self._groups([codec.decode(SubscriptionGroupConfig, request.body).group_name])

    def groups(self, request: Command) -> str:
        configs = codec.decode(SubscriptionGroupList, request.body).group_config_list
        return self._groups([config.group_name for config in configs])

    def named_group(self, request: Command) -> str:
        return self._groups([_field(request, "groupName")])

    def settings(self, request: Command) -> str:
        entries = self._broker.settings.entries()
        return " ".join(f"{key}={entries.get(key, '')}" for key in parse_properties(bytes(request.body).decode()))

    def offsets(self, request: Command) -> str:
        group = _field(request, "group") or _field(request, "destGroup")
        topic, offsets = _field(request, "topic"), self._broker.offsets
        queues = self._broker.topics.configs[topic].read_queue_nums
        return " ".join(f"{queue}:{offsets.query(group, topic, queue)}" for queue in range(queues))

    def _topics(self, names: list[str]) -> str:
        found = [self._broker.topics.configs.get(name) for name in names]
        return " ".join(codec.encode(config).decode() for config in found if config is not None)

    def _groups(self, names: list[str]) -> str:
        found = [self._broker.groups.configs.get(name) for name in names]
        return " ".join(codec.encode(config).decode() for config in found if config is not None)


def _field(request: Command, name: str) -> str:
    return (request.ext_fields or {}).get(name, "")
