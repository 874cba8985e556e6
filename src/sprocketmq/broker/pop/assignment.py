"""Sharing a topic's queues on the broker's side: QUERY_ASSIGNMENT and SET_MESSAGE_REQUEST_MODE.

A consumer that does not rebalance by itself asks which queues are its own, and whether it pulls them or pops. An
administrator sets the mode per topic and group; it is kept in messageRequestMode.json. Pulled queues are shared as
clients share them. Popped queues belong to everyone, as one queue -1 per broker, unless `popShareQueueNum` says that a
member shares the queues of so many neighbours only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from sprocketmq.broker.cluster.registration import Registration
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.tables.group_members import ConsumerTable
from sprocketmq.broker.tables.groups import GroupTable
from sprocketmq.broker.tables.saver import Saver
from sprocketmq.broker.tables.topics import TopicTable
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RemotingError, RequestRefused
from sprocketmq.logs import Events
from sprocketmq.protocol import names
from sprocketmq.protocol.allocation import Allocation, Averagely, AveragelyByCircle, ConsistentHash
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.pop import (
    MessageQueueAssignment,
    MessageRequestModeSerializeWrapper,
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
    SetMessageRequestModeRequestBody,
)
from sprocketmq.protocol.bodies.route import TopicRouteData
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.enums import MessageModel, MessageRequestMode
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.permissions import PERM_READ
from sprocketmq.remoting import Connection, ProcessorTable, RemotingClient, Reply
from sprocketmq.store.files.config_files import ConfigFile, json_object
from sprocketmq.store.files.files import Files

events = Events("sprocketmq.broker.pop")

_STRATEGIES: dict[str, Allocation] = {
    strategy.name: strategy for strategy in (Averagely(), AveragelyByCircle(), ConsistentHash())
}
_ROUTE_SECONDS = 3.0
ALL_QUEUES = -1


class Assignments:
    def __init__(
        self, settings: Settings, topics: TopicTable, groups: GroupTable, consumers: ConsumerTable,
        registration: Registration, client: RemotingClient, files: Files, folder: Path,
    ) -> None:  # fmt: skip
        self.modes: dict[str, dict[str, SetMessageRequestModeRequestBody]] = {}
        self.saver = Saver("request modes", self._take)
        self._settings = settings
        self._topics = topics
        self._groups = groups
        self._consumers = consumers
        self._registration = registration
        self._client = client
        self._file: ConfigFile[MessageRequestModeSerializeWrapper] = ConfigFile(
            files,
            folder / "messageRequestMode.json",
            lambda data: codec.from_tree(MessageRequestModeSerializeWrapper, json_object(data)),
            codec.encode_pretty,
        )

    def add_to(self, table: ProcessorTable) -> None:
        table.add_slow(RequestCode.QUERY_ASSIGNMENT, self.query)
        table.add_slow(RequestCode.SET_MESSAGE_REQUEST_MODE, self.set_mode)

    def load(self) -> None:
        kept = self._file.load()
        if kept is not None:
            self.modes = {topic: dict(groups) for topic, groups in kept.message_request_mode_map.items()}

    def body(self) -> MessageRequestModeSerializeWrapper:
        return MessageRequestModeSerializeWrapper(message_request_mode_map=self.modes)

    def inherit(self, told: MessageRequestModeSerializeWrapper) -> None:
        """For a slave: the modes of its master."""
        modes = {topic: dict(groups) for topic, groups in told.message_request_mode_map.items()}
        if modes != self.modes:
            self.modes = modes
            self.saver.soon()

    def _take(self) -> Callable[[], None]:
        modes = {topic: groups.copy() for topic, groups in self.modes.items()}
        return partial(self._file.save, MessageRequestModeSerializeWrapper(message_request_mode_map=modes))

    async def set_mode(self, connection: Connection, request: Command) -> Reply:
        body = codec.decode(SetMessageRequestModeRequestBody, request.body)
        if names.is_retry_topic(body.topic):
            raise RequestRefused(ResponseCode.NO_PERMISSION, "a retry topic is consumed as its group consumes")
        if self._topics.get(body.topic) is None:
            raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, f"no topic {body.topic}")
        if self._groups.get(body.consumer_group, connection.peer) is None:
            raise RequestRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"no group {body.consumer_group}")
        self.modes.setdefault(body.topic, {})[body.consumer_group] = body
        self.saver.changed()
        await self.saver.saved()
        events.info(
            "request mode set", topic=body.topic, group=body.consumer_group, mode=body.mode.name, peer=connection.peer
        )
        return request.reply()

    async def query(self, _connection: Connection, request: Command) -> Reply:
        body = codec.decode(QueryAssignmentRequestBody, request.body)
        mode = self._mode(body.topic, body.consumer_group)
        queues = await self._queues(body.topic)
        clients = self._clients(body)
        if body.message_model is MessageModel.BROADCASTING:
            own: Sequence[MessageQueue] = queues
        elif mode.mode is MessageRequestMode.POP:
            own = self._popped(body, queues, clients, mode.pop_share_queue_num)
        else:
            own = _strategy(body.strategy_name)(body.client_id, queues, clients)
        assigned = tuple(MessageQueueAssignment(message_queue=queue, mode=mode.mode) for queue in own)
        return request.reply(body=codec.encode(QueryAssignmentResponseBody(message_queue_assignments=assigned)))

    def _mode(self, topic: str, group: str) -> SetMessageRequestModeRequestBody:
        found = self.modes.get(topic, {}).get(group)
        if found is not None:
            return found
        config = self._settings.current
        mode = MessageRequestMode[config.default_message_request_mode.value]
        if names.is_retry_topic(topic):  # a group that pops meets its retries in its pops
            mode = MessageRequestMode.PULL
        return SetMessageRequestModeRequestBody(
            topic=topic,
            consumer_group=group,
            mode=mode,
            pop_share_queue_num=config.default_pop_share_queue_num,
        )

    def _clients(self, body: QueryAssignmentRequestBody) -> list[str]:
        group = self._consumers.get(body.consumer_group)
        return [] if group is None else sorted(set(group.client_ids()))

    def _popped(
        self, body: QueryAssignmentRequestBody, queues: list[MessageQueue], clients: list[str], share: int
    ) -> list[MessageQueue]:
        """Everyone's, or those of this member and `share` neighbours."""
        if share <= 0 or share >= len(clients) - 1:
            brokers = sorted({queue.broker_name for queue in queues})
            return [MessageQueue(topic=body.topic, broker_name=broker, queue_id=ALL_QUEUES) for broker in brokers]
        if body.client_id not in clients:
            return []
        strategy, index = _strategy(body.strategy_name), clients.index(body.client_id)
        near = [clients[(index + step) % len(clients)] for step in range(share + 1)]
        if len(clients) > len(queues):
            return [queues[(index + step) % len(queues)] for step in range(min(share + 1, len(queues)))]
        return [queue for client in near for queue in strategy(client, queues, clients)]

    async def _queues(self, topic: str) -> list[MessageQueue]:
        """The topic's queues on all brokers, as a nameserver tells; those of this broker when none answers."""
        for address in self._registration.nameservers:
            request = Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext_fields={"topic": topic})
            try:
                answer = await self._client.call(address, request, _ROUTE_SECONDS)
            except RemotingError:
                continue
            if answer.code == ResponseCode.SUCCESS:
                return _queues_of(topic, codec.decode(TopicRouteData, answer.body))
        config = self._topics.get(topic)
        count = 0 if config is None else config.read_queue_nums
        broker = self._settings.current.broker_name
        return [MessageQueue(topic=topic, broker_name=broker, queue_id=number) for number in range(count)]


def _queues_of(topic: str, route: TopicRouteData) -> list[MessageQueue]:
    return [
        MessageQueue(topic=topic, broker_name=data.broker_name, queue_id=number)
        for data in sorted(route.queue_datas, key=lambda data: data.broker_name)
        if data.perm & PERM_READ
        for number in range(data.read_queue_nums)
    ]


def _strategy(name: str | None) -> Allocation:
    found = _STRATEGIES.get(name or Averagely.name)
    if found is None:
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"no strategy {name}")
    return found
