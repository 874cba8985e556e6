"""Setting the offsets of groups: reset by time or to an offset, clone from another group, and what to correct.

A reset counts on the broker. A group that is offline goes on from there when it comes. One that is online is told: the
next pull of a queue, or the one that waits there now, is sent to the new offset, and until then the group's commits of
that queue are ignored. With `useServerSideResetOffset` off the new offsets are pushed to the consumers instead, which
must then be online; so it was done before RocketMQ 5.
"""

from __future__ import annotations

from sprocketmq.broker.pull.wiring import PullProcessors
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.tables.group_members import ConsumerGroup, ConsumerTable
from sprocketmq.broker.tables.groups import GroupTable
from sprocketmq.broker.tables.offsets import ConsumerOffsets
from sprocketmq.broker.tables.topics import TopicTable
from sprocketmq.codes import LanguageCode, RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.logs import Events
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.offsets import (
    MessageQueueForC,
    QueryCorrectionOffsetBody,
    ResetOffsetBody,
    ResetOffsetBodyForC,
)
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields, to_ext_fields
from sprocketmq.protocol.headers.offsets import (
    CloneGroupOffsetRequestHeader,
    QueryCorrectionOffsetHeader,
    ResetOffsetRequestHeader,
)
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.remoting import Connection, ProcessorTable, Reply
from sprocketmq.store.store import MessageStore

events = Events("sprocketmq.broker.admin.offsets")

#: Stands for an offset that must not be used.
NOT_CORRECT = (1 << 63) - 1


class OffsetAdminProcessors:
    def __init__(
        self, settings: Settings, store: MessageStore, topics: TopicTable, groups: GroupTable,
        offsets: ConsumerOffsets, consumers: ConsumerTable, pulls: PullProcessors,
    ) -> None:  # fmt: skip
        self._settings = settings
        self._store = store
        self._topics = topics
        self._groups = groups
        self._offsets = offsets
        self._consumers = consumers
        self._pulls = pulls

    def add_to(self, table: ProcessorTable) -> None:
        table.add(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, self.reset)
        table.add(RequestCode.CLONE_GROUP_OFFSET, self.clone)
        table.add(RequestCode.QUERY_CORRECTION_OFFSET, self.correction)

    # -- reset --------------------------------------------------------------------------------------------------------

    def reset(self, connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(ResetOffsetRequestHeader, request.ext_fields)
        topic = self._topics.get(header.topic)
        if topic is None:
            raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, f"no topic {header.topic}")
        if header.group not in self._groups.configs:
            raise RequestRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"no group {header.group}")
        if self._settings.current.use_server_side_reset_offset:
            target = self._targets(header, topic)
            self._reset_here(header, target)
        else:
            target = self._push(header, topic)
        events.info(
            "offsets reset", group=header.group, topic=header.topic, queues=len(target), timestamp=header.timestamp,
            offset=header.offset, peer=connection.peer,
        )  # fmt: skip
        table = {self._queue(header.topic, queue_id): offset for queue_id, offset in target.items()}
        return request.reply(body=codec.encode(ResetOffsetBody(offset_table=table)))

    def _queue(self, topic: str, queue_id: int) -> MessageQueue:
        return MessageQueue(topic, self._settings.current.broker_name, queue_id)

    def _targets(self, header: ResetOffsetRequestHeader, topic: TopicConfig) -> dict[int, int]:
        """The new offset of each queue: one queue to an offset or a time, or all of them to a time."""
        if header.queue_id < 0:
            every = range(topic.read_queue_nums)
            return {queue_id: self._by_time(header.topic, queue_id, header.timestamp) for queue_id in every}
        if header.queue_id >= topic.read_queue_nums:
            raise RequestRefused(ResponseCode.INVALID_PARAMETER, f"topic {header.topic} has no queue {header.queue_id}")
        if header.offset is None or header.offset == -1:
            return {header.queue_id: self._by_time(header.topic, header.queue_id, header.timestamp)}
        low = self._store.min_offset(header.topic, header.queue_id)
        high = self._store.max_offset(header.topic, header.queue_id)
        if not low <= header.offset <= high:
            remark = f"offset {header.offset} is not within {low} to {high} of queue {header.queue_id}"
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
        return {header.queue_id: header.offset}

    def _by_time(self, topic: str, queue_id: int, timestamp: int) -> int:
        """A negative time is the queue's end."""
        if timestamp < 0:
            return self._store.max_offset(topic, queue_id)
        return self._store.reader.offset_by_time(topic, queue_id, timestamp)

    def _reset_here(self, header: ResetOffsetRequestHeader, target: dict[int, int]) -> None:
        group, topic = header.group, header.topic
        set_offset = self._offsets.place if self._consumers.get(group) is None else self._offsets.reset
        for queue_id, offset in target.items():
            set_offset(group, topic, queue_id, offset)
            self._pulls.long_polls.wake(topic, queue_id, group)
        self._offsets.saver.soon()

    # -- reset by the consumers ---------------------------------------------------------------------------------------

    def _push(self, header: ResetOffsetRequestHeader, topic: TopicConfig) -> dict[int, int]:
        group = self._consumers.get(header.group)
        if group is None:
            raise RequestRefused(ResponseCode.CONSUMER_NOT_ONLINE, f"no consumer of group {header.group} is online")
        target = {
            queue_id: self._pushed(header, queue_id, offset)
            for queue_id, offset in self._targets(header, topic).items()
        }
        self._tell(group, header, target)
        return target

    def _pushed(self, header: ResetOffsetRequestHeader, queue_id: int, offset: int) -> int:
        """Unless it is forced, a reset leads back and never on."""
        committed = self._offsets.query(header.group, header.topic, queue_id)
        return offset if header.is_force or committed is None or offset < committed else committed

    def _tell(self, group: ConsumerGroup, header: ResetOffsetRequestHeader, target: dict[int, int]) -> None:
        queues = {self._queue(header.topic, queue_id): offset for queue_id, offset in target.items()}
        plain = codec.encode(ResetOffsetBody(offset_table=queues))
        for_c = codec.encode(
            ResetOffsetBodyForC(
                offset_table=tuple(
                    MessageQueueForC(topic=q.topic, broker_name=q.broker_name, queue_id=q.queue_id, offset=offset)
                    for q, offset in queues.items()
                )
            )
        )
        for client in tuple(group.members.values()):
            body = for_c if client.language == LanguageCode.CPP else plain
            notice = Command(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, ext_fields=to_ext_fields(header), body=body)
            client.connection.send(notice)

    # -- from other groups --------------------------------------------------------------------------------------------

    def clone(self, connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(CloneGroupOffsetRequestHeader, request.ext_fields)
        source, target = header.src_group, header.dest_group
        topics = {header.topic} if header.topic else self._offsets.topics_of(source)
        for topic in sorted(topics):
            if self._topics.get(topic) is not None and (header.offline or self._still_wants(source, topic)):
                for queue_id, offset in self._offsets.queues(source, topic).items():
                    self._offsets.commit(target, topic, queue_id, offset)
                events.info("offsets cloned", source=source, group=target, topic=topic, peer=connection.peer)
        self._offsets.saver.soon()
        return request.reply()

    def _still_wants(self, group: str, topic: str) -> bool:
        """The offsets that a group that is online has in a topic it subscribes to no more are of no use to anybody."""
        online = self._consumers.get(group)
        return online is None or not online.subscriptions or topic in online.subscriptions

    def correction(self, _connection: Connection, request: Command) -> Reply:
        """Per queue the least offset of all groups but some; where that is beyond `compareGroup`'s, none."""
        header = from_ext_fields(QueryCorrectionOffsetHeader, request.ext_fields)
        left_out = set((header.filter_groups or "").split(","))
        least: dict[int, int] = {}
        for group in self._offsets.groups_of(header.topic) - left_out:
            for queue_id, offset in self._offsets.queues(group, header.topic).items():
                if offset >= self._store.min_offset(header.topic, queue_id):
                    least[queue_id] = min(offset, least.get(queue_id, offset))
        for queue_id, offset in self._offsets.queues(header.compare_group, header.topic).items():
            if least.get(queue_id, 0) > offset:
                least[queue_id] = NOT_CORRECT
        return request.reply(body=codec.encode(QueryCorrectionOffsetBody(correction_offsets=least)))
