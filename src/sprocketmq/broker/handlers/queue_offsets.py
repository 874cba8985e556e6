"""The offsets of a queue: QUERY_CONSUMER_OFFSET, UPDATE_CONSUMER_OFFSET, and the least, largest and timed ones."""

from __future__ import annotations

from sprocketmq.broker.tables.groups import GroupTable
from sprocketmq.broker.tables.offsets import ConsumerOffsets
from sprocketmq.broker.tables.topics import TopicTable
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.enums import BoundaryType
from sprocketmq.protocol.header import from_ext_fields
from sprocketmq.protocol.headers.offsets import (
    GetEarliestMsgStoretimeRequestHeader,
    GetMaxOffsetRequestHeader,
    GetMinOffsetRequestHeader,
    QueryConsumerOffsetRequestHeader,
    SearchOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from sprocketmq.remoting import Connection, ProcessorTable, Reply
from sprocketmq.store.lookup import Boundary
from sprocketmq.store.pull.get import MEMORY_BYTES
from sprocketmq.store.store import MessageStore


def is_young(store: MessageStore, topic: str, queue_id: int) -> bool:
    """Whether the queue's first message is still in memory: a new group begins there, wherever it wanted to begin."""
    entry = store.reader.entry(topic, queue_id, 0)
    if entry is None or store.min_offset(topic, queue_id) > 0:
        return False
    memory = MEMORY_BYTES * store.config.access_message_in_memory_max_ratio // 100
    return store.log.max_offset - entry.commit_offset <= memory


class OffsetProcessors:
    def __init__(self, store: MessageStore, topics: TopicTable, groups: GroupTable, offsets: ConsumerOffsets) -> None:
        self._store = store
        self._topics = topics
        self._groups = groups
        self._offsets = offsets
        #: Commits of offsets or queues that are not there.
        self.refused = 0

    def add_to(self, table: ProcessorTable) -> None:
        table.add(RequestCode.QUERY_CONSUMER_OFFSET, self.query)
        table.add(RequestCode.UPDATE_CONSUMER_OFFSET, self.update)
        table.add(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, self.search)
        table.add(RequestCode.GET_MAX_OFFSET, self.max_offset)
        table.add(RequestCode.GET_MIN_OFFSET, self.min_offset)
        table.add(RequestCode.GET_EARLIEST_MSG_STORETIME, self.earliest_store_time)

    def query(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(QueryConsumerOffsetRequestHeader, request.ext_fields)
        offset = self._offsets.query(header.consumer_group, header.topic, header.queue_id)
        if offset is None and header.set_zero_if_not_found is not False:
            offset = 0 if is_young(self._store, header.topic, header.queue_id) else None
        if offset is None:
            remark = f"group {header.consumer_group} has no offset of this queue yet"
            raise RequestRefused(ResponseCode.QUERY_NOT_FOUND, remark)
        return request.reply(ext_fields={"offset": str(offset)})

    def update(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(UpdateConsumerOffsetRequestHeader, request.ext_fields)
        if header.consumer_group not in self._groups.configs:  # a commit creates no group, unlike a pull
            no_group = f"no group {header.consumer_group}"
            raise RequestRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, no_group)
        topic = self._topics.get(header.topic)
        if topic is None:
            raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, f"no topic {header.topic}")
        if (remark := self._wrong(topic, header)) is not None:
            self.refused += 1
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
        self._offsets.commit(header.consumer_group, header.topic, header.queue_id, header.commit_offset)
        return request.reply()

    def _wrong(self, topic: TopicConfig, header: UpdateConsumerOffsetRequestHeader) -> str | None:
        if header.commit_offset < 0:
            return "commitOffset must not be negative"
        if not self._has_queue(topic, header.queue_id):
            return f"topic {header.topic} has no queue {header.queue_id}"
        end = self._store.max_offset(header.topic, header.queue_id)
        if header.commit_offset > end:  # a group that is ahead of its queue misses what comes next
            return f"queue {header.queue_id} of {header.topic} ends at {end}, before {header.commit_offset}"
        return None

    def _has_queue(self, topic: TopicConfig, queue_id: int) -> bool:
        """One that a client may use, or that has messages from when the topic had more: any other number would be
        kept for ever.
        """
        count = max(topic.read_queue_nums, topic.write_queue_nums)
        return 0 <= queue_id < count or self._store.queues.find(topic.topic_name, queue_id) is not None

    def search(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(SearchOffsetRequestHeader, request.ext_fields)
        boundary = Boundary.UPPER if header.boundary_type is BoundaryType.UPPER else Boundary.LOWER
        offset = self._store.reader.offset_by_time(header.topic, header.queue_id, header.timestamp, boundary)
        return request.reply(ext_fields={"offset": str(offset)})

    def max_offset(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(GetMaxOffsetRequestHeader, request.ext_fields)
        offset = self._store.max_offset(header.topic, header.queue_id)
        return request.reply(ext_fields={"offset": str(offset)})

    def min_offset(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(GetMinOffsetRequestHeader, request.ext_fields)
        offset = self._store.min_offset(header.topic, header.queue_id)
        return request.reply(ext_fields={"offset": str(offset)})

    def earliest_store_time(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(GetEarliestMsgStoretimeRequestHeader, request.ext_fields)
        timestamp = self._store.reader.earliest_time(header.topic, header.queue_id)
        return request.reply(ext_fields={"timestamp": str(timestamp)})
