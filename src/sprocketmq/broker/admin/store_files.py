"""What is in the store: entries of a queue; and making room: expired queues, unused topics, old log files."""

from __future__ import annotations

from sprocketmq.broker.tables.group_members import ConsumerTable
from sprocketmq.broker.tables.offsets import ConsumerOffsets
from sprocketmq.broker.tables.subscriptions import GroupSubscription, matches
from sprocketmq.broker.tables.topic_deletions import TopicDeletions
from sprocketmq.broker.tables.topics import TopicTable
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.logs import Events
from sprocketmq.protocol import names
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.queue import ConsumeQueueData, QueryConsumeQueueResponseBody
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields
from sprocketmq.protocol.headers.query import QueryConsumeQueueRequestHeader
from sprocketmq.remoting import Connection, ProcessorTable, Reply, Steps
from sprocketmq.store.queue.consumequeue import ConsumeQueue
from sprocketmq.store.store import MessageStore

events = Events("sprocketmq.broker.admin.files")

#: Most entries of a queue in one answer.
MAX_ENTRIES = 10_000


class FileProcessors:
    def __init__(
        self, store: MessageStore, topics: TopicTable, offsets: ConsumerOffsets, consumers: ConsumerTable,
        deletions: TopicDeletions,
    ) -> None:  # fmt: skip
        self._store = store
        self._topics = topics
        self._offsets = offsets
        self._consumers = consumers
        self._deletions = deletions

    def add_to(self, table: ProcessorTable) -> None:
        table.add_long(RequestCode.QUERY_CONSUME_QUEUE, self.query_queue)
        table.add(RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE, self.clean_expired_queues)
        table.add_slow(RequestCode.CLEAN_UNUSED_TOPIC, self.clean_unused_topics)
        table.add(RequestCode.DELETE_EXPIRED_COMMITLOG, self.delete_expired_log)

    # -- a queue's entries --------------------------------------------------------------------------------------------

    def query_queue(self, _connection: Connection, request: Command) -> Steps:
        header = from_ext_fields(QueryConsumeQueueRequestHeader, request.ext_fields)
        topic, group = header.topic or "", header.consumer_group or ""
        queue = self._store.queues.find(topic, header.queue_id)
        if queue is None:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"topic {topic} has no queue {header.queue_id} here")
        online = self._consumers.get(group)
        wanted = None if online is None else online.subscriptions.get(topic)
        told = QueryConsumeQueueResponseBody(
            subscription_data=None if wanted is None else wanted.data,
            filter_data=f"group {group} does not subscribe to {topic} now" if group and wanted is None else None,
            max_queue_index=queue.max_offset,
            min_queue_index=queue.min_offset,
        )
        last = min(header.index + min(header.count, MAX_ENTRIES), queue.max_offset)
        trees: list[object] = []
        for offset in range(max(header.index, queue.min_offset), last):
            data = self._data(queue, offset, wanted)
            if data is None:
                break
            trees.append(codec.to_tree(data))
            yield
        body = yield from codec.encode_in_steps(told, "queue_data", trees)
        return request.reply(body=body)

    def _data(self, queue: ConsumeQueue, offset: int, wanted: GroupSubscription | None) -> ConsumeQueueData | None:
        entry = queue.entry(offset)
        if entry is None:
            return None
        return ConsumeQueueData(
            physic_offset=entry.commit_offset,
            physic_size=entry.size,
            tags_code=entry.tags_code,
            eval=wanted is not None and self._passes(wanted, entry.commit_offset, entry.tags_code),
        )

    def _passes(self, wanted: GroupSubscription, commit_offset: int, tags_code: int) -> bool:
        record = self._store.reader.record_at(commit_offset) if wanted.is_sql else None
        return matches(wanted.wanted, tags_code, b"" if record is None else record.properties)

    # -- room ---------------------------------------------------------------------------------------------------------

    def clean_expired_queues(self, connection: Connection, request: Command) -> Reply:
        """Queues whose every message is gone begin again at 0, and so do the groups that consume them."""
        before = {(queue.topic, queue.queue_id) for queue in self._store.queues}
        count = self._store.cleaner.clean_expired_queues()
        left = {(queue.topic, queue.queue_id) for queue in self._store.queues}
        for topic, queue_id in before - left:
            self._offsets.restart_queue(topic, queue_id)
        self._offsets.saver.soon()
        events.info("expired queues cleaned", queues=count, peer=connection.peer)
        return request.reply()

    async def clean_unused_topics(self, connection: Connection, request: Command) -> Reply:
        known = self._topics.configs
        gone = [topic for topic in self._store.topics() if topic not in known and not names.is_system_topic(topic)]
        with self._topics.closed(gone):
            if gone:
                await self._deletions.delete(gone)
        events.info("unused topics cleaned", topics=",".join(gone), peer=connection.peer)
        return request.reply()

    def delete_expired_log(self, connection: Connection, request: Command) -> Reply:
        """Their hour is now: the next rounds of cleaning delete what is expired."""
        self._store.cleaner.delete_soon()
        events.info("expired log files are deleted soon", peer=connection.peer)
        return request.reply()
