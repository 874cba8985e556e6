"""What the audit shows of a broker's topics, groups, offsets and settings before and after a change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sprocketmq.auth.audit.before_and_after import settings_look
from sprocketmq.codes import RequestCode as C
from sprocketmq.properties_file import parse_properties
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.group import SubscriptionGroupConfig, SubscriptionGroupList
from sprocketmq.protocol.bodies.pop import SetMessageRequestModeRequestBody
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
        C.UPDATE_AND_GET_GROUP_FORBIDDEN: looks.forbidden,
        C.SET_MESSAGE_REQUEST_MODE: looks.request_mode,
        C.UPDATE_BROKER_CONFIG: settings_look(broker.settings.entries),
        C.SET_COMMITLOG_READ_MODE: looks.read_ahead,
        C.UPDATE_COLD_DATA_FLOW_CTR_CONFIG: looks.thresholds,
        C.REMOVE_COLD_DATA_FLOW_CTR_CONFIG: looks.threshold,
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

    def forbidden(self, request: Command) -> str:
        group, topic = _field(request, "group"), _field(request, "topic")
        return f"forbidden={self._broker.groups.forbidden.get(group, {}).get(topic, 0)}"

    def request_mode(self, request: Command) -> str:
        asked = codec.decode(SetMessageRequestModeRequestBody, request.body)
        found = self._broker.kinds.assignments.modes.get(asked.topic, {}).get(asked.consumer_group)
        return "" if found is None else codec.encode(found).decode()

    def read_ahead(self, _request: Command) -> str:
        return f"dataReadAheadEnable={self._broker.settings.entries()['dataReadAheadEnable']}"

    def thresholds(self, request: Command) -> str:
        return self._thresholds(parse_properties(bytes(request.body).decode()))

    def threshold(self, request: Command) -> str:
        return self._thresholds([bytes(request.body).decode()])

    def offsets(self, request: Command) -> str:
        group = _field(request, "group") or _field(request, "destGroup")
        topic, offsets = _field(request, "topic"), self._broker.offsets
        queues = self._broker.topics.configs[topic].read_queue_nums
        return " ".join(f"{queue}:{offsets.query(group, topic, queue)}" for queue in range(queues))

    def _thresholds(self, groups: Iterable[str]) -> str:
        return " ".join(f"{group}={self._broker.cold.thresholds.get(group, '')}" for group in groups)

    def _topics(self, names: list[str]) -> str:
        found = [self._broker.topics.configs.get(name) for name in names]
        return " ".join(codec.encode(config).decode() for config in found if config is not None)

    def _groups(self, names: list[str]) -> str:
        found = [self._broker.groups.configs.get(name) for name in names]
        return " ".join(codec.encode(config).decode() for config in found if config is not None)


def _field(request: Command, name: str) -> str:
    return (request.ext_fields or {}).get(name, "")
