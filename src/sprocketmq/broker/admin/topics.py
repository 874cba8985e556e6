"""Topics: create and change, list, show, delete, and the figures of their queues.

Whoever asks for a change hears of it when it is on disk and the nameservers know. Deleting a topic deletes its queues,
the offsets that groups have in it, and what POP keeps for it; its messages stay in the log until their files go.
"""

from __future__ import annotations

from dataclasses import replace

from sprocketmq.broker.admin.attributes import TOPIC_ATTRIBUTES, altered, parse
from sprocketmq.broker.cluster.registration import Registration
from sprocketmq.broker.metrics.stats import Stats
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.static_topic.mappings import QueueMappings
from sprocketmq.broker.tables.offsets import ConsumerOffsets
from sprocketmq.broker.tables.topic_deletions import TopicDeletions
from sprocketmq.broker.tables.topics import TopicTable
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.logs import Events
from sprocketmq.protocol import names
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.mapping import (
    TopicConfigAndMappingSerializeWrapper,
    TopicConfigAndQueueMapping,
    TopicQueueMappingDetail,
)
from sprocketmq.protocol.bodies.stats import TopicOffset, TopicStatsTable
from sprocketmq.protocol.bodies.topic import CreateTopicListRequestBody, TopicConfig, TopicList
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.enums import TopicFilterType
from sprocketmq.protocol.header import from_ext_fields
from sprocketmq.protocol.headers.topic import (
    CreateTopicRequestHeader,
    DeleteTopicRequestHeader,
    GetTopicConfigRequestHeader,
    GetTopicStatsInfoRequestHeader,
)
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.remoting import Connection, Peer, ProcessorTable, Reply, Steps
from sprocketmq.store.store import MessageStore

events = Events("sprocketmq.broker.admin.topics")

MAX_QUEUES = 65_535


class TopicProcessors:
    def __init__(
        self, settings: Settings, store: MessageStore, topics: TopicTable, offsets: ConsumerOffsets, stats: Stats,
        deletions: TopicDeletions, registration: Registration, mappings: QueueMappings,
    ) -> None:  # fmt: skip
        self._settings = settings
        self._store = store
        self._topics = topics
        self._offsets = offsets
        self._stats = stats
        self._deletions = deletions
        self._registration = registration
        self._mappings = mappings

    def add_to(self, table: ProcessorTable) -> None:
        table.add_slow(RequestCode.UPDATE_AND_CREATE_TOPIC, self.create)
        table.add_slow(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, self.create_list)
        table.add_slow(RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC, self.create_static)
        table.add_slow(RequestCode.DELETE_TOPIC_IN_BROKER, self.delete)
        table.add_long(RequestCode.GET_ALL_TOPIC_CONFIG, self.all)
        table.add(RequestCode.GET_TOPIC_CONFIG, self.get)
        table.add(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER, self.system_topics)
        table.add(RequestCode.GET_TOPIC_STATS_INFO, self.stats)

    # -- changes ------------------------------------------------------------------------------------------------------

    async def create(self, connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(CreateTopicRequestHeader, request.ext_fields)
        special = self._stats.special
        with special.making(special.topic_ms, names.is_system_topic(header.topic)):
            await self._put([self._checked(_config_in(header))], connection.peer)
            await self._registration.announce()
        return request.reply()

    async def create_static(self, connection: Connection, request: Command) -> Reply:
        """A topic with the mapping of its logical queues: those that this broker leads or has led."""
        header = from_ext_fields(CreateTopicRequestHeader, request.ext_fields)
        config = self._checked(_config_in(header))
        detail = codec.decode(TopicQueueMappingDetail, request.body)
        if detail.topic != config.topic_name:
            raise _refused(f"the mapping is of {detail.topic or '?'}, not of {config.topic_name}")
        self._mappings.put(detail, force=header.force is True)
        await self._mappings.saver.saved()
        await self._topics.put(config)
        events.info("static topic put", topic=detail.topic, epoch=detail.epoch, peer=connection.peer)
        await self._registration.announce()
        return request.reply()

    async def create_list(self, connection: Connection, request: Command) -> Reply:
        body = codec.decode(CreateTopicListRequestBody, request.body)
        await self._put([self._checked(config) for config in body.topic_config_list], connection.peer)
        await self._registration.announce()
        return request.reply()

    def _checked(self, config: TopicConfig) -> TopicConfig:
        """The topic with its attributes worked out, when it may be made so."""
        self._check_name(config.topic_name)
        for count in (config.read_queue_nums, config.write_queue_nums):
            if not 0 <= count <= MAX_QUEUES:
                raise _refused(f"topic {config.topic_name} cannot have {count} queues, at most {MAX_QUEUES}")
        if not 0 <= config.perm <= 7:
            raise _refused(f"{config.perm} is no permission: 4 readable, 2 writable, 1 inherited, added up")
        known = self._topics.get(config.topic_name)
        current = None if known is None else known.attributes
        return replace(config, attributes=altered(TOPIC_ATTRIBUTES, current, config.attributes))

    def _check_name(self, topic: str) -> None:
        fault = names.topic_fault(topic)
        if fault is not None:
            raise _refused(fault)
        is_system = names.is_system_topic(topic) or topic in self._topics.names_of_system()
        if is_system and self._settings.current.validate_system_topic_when_update_topic:
            raise _refused(f"{topic} is a topic of the system")

    async def _put(self, configs: list[TopicConfig], peer: Peer) -> None:
        changed = [config for config in configs if config != self._topics.get(config.topic_name)]
        if changed:
            await self._topics.put_all(changed)
        for config in configs:
            events.info(
                "topic put", topic=config.topic_name, read_queues=config.read_queue_nums,
                write_queues=config.write_queue_nums, perm=config.perm, peer=peer,
            )  # fmt: skip

    async def delete(self, connection: Connection, request: Command) -> Reply:
        topic = from_ext_fields(DeleteTopicRequestHeader, request.ext_fields).topic
        self._check_name(topic)
        topics = [*self._pop_retry_topics(topic), topic]
        with self._topics.closed(topics):
            if queued := [each for each in topics if self._store.queues.of_topic(each)]:
                await self._deletions.delete(queued)
            for each in topics:
                self._forget(each)
            await self._topics.delete(*topics)
        await self._mappings.saver.saved()
        await self._offsets.saver.saved()  # else a topic of this name would go on where this one ended
        for each in topics:
            events.info("topic deleted", topic=each, peer=connection.peer)
        await self._registration.announce()
        return request.reply()

    def _pop_retry_topics(self, topic: str) -> list[str]:
        if not self._settings.current.clear_retry_topic_when_delete_topic:
            return []
        groups = sorted(self._offsets.groups_of(topic))
        named = [names.pop_retry_topic(group, topic, separator=between) for group in groups for between in "_+"]
        return [name for name in named if self._topics.get(name) is not None]

    def _forget(self, topic: str) -> None:
        self._mappings.delete(topic)
        self._offsets.forget_topic(topic)
        self._stats.forget_topic(topic)

    # -- answers ------------------------------------------------------------------------------------------------------

    def all(self, _connection: Connection, request: Command) -> Steps:
        told = TopicConfigAndMappingSerializeWrapper(
            data_version=self._topics.data_version,
            topic_queue_mapping_detail_map=self._mappings.details,
            mapping_data_version=self._mappings.data_version,
            deleted_topics=self._store.deleted.table,
        )
        configs, table = tuple(self._topics.configs.items()), dict[str, object]()
        for topic, config in configs:
            table[topic] = codec.to_tree(config)
            yield
        body = yield from codec.encode_in_steps(told, "topic_config_table", table)
        return request.reply(body=body)

    def get(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(GetTopicConfigRequestHeader, request.ext_fields)
        config = self._known(header.topic)
        body = TopicConfigAndQueueMapping(
            topic_name=config.topic_name,
            read_queue_nums=config.read_queue_nums,
            write_queue_nums=config.write_queue_nums,
            perm=config.perm,
            topic_filter_type=config.topic_filter_type,
            topic_sys_flag=config.topic_sys_flag,
            order=config.order,
            attributes=config.attributes,
            mapping_detail=self._mappings.details.get(header.topic) if header.lo else None,
        )
        return request.reply(body=codec.encode(body))

    def system_topics(self, _connection: Connection, request: Command) -> Reply:
        mine = {topic for topic in self._topics.configs if names.is_system_topic(topic)}
        body = TopicList(topic_list=frozenset(mine | self._topics.names_of_system()))
        return request.reply(body=codec.encode(body))

    def stats(self, _connection: Connection, request: Command) -> Reply:
        topic = self._known(from_ext_fields(GetTopicStatsInfoRequestHeader, request.ext_fields).topic)
        name, broker = topic.topic_name, self._settings.current.broker_name
        found = self._store.reader.queue_stats(name)
        table = {}
        for queue_id in range(max(topic.read_queue_nums, topic.write_queue_nums)):
            queue = found.get(queue_id)
            table[MessageQueue(name, broker, queue_id)] = TopicOffset(
                min_offset=0 if queue is None else queue.min_offset,
                max_offset=0 if queue is None else queue.max_offset,
                last_update_timestamp=0 if queue is None else max(queue.last_update_timestamp, 0),
            )
        tps = self._stats.tps("TOPIC_PUT_NUMS", name)
        return request.reply(body=codec.encode(TopicStatsTable(topic_put_tps=tps, offset_table=table)))

    def _known(self, topic: str) -> TopicConfig:
        config = self._topics.get(topic)
        if config is None:
            raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, f"no topic {topic}")
        return config


def _config_in(header: CreateTopicRequestHeader) -> TopicConfig:
    return TopicConfig(
        topic_name=header.topic,
        read_queue_nums=header.read_queue_nums,
        write_queue_nums=header.write_queue_nums,
        perm=header.perm,
        topic_filter_type=_filter_type(header.topic_filter_type),
        topic_sys_flag=header.topic_sys_flag or 0,
        order=header.order,
        attributes=parse(header.attributes or ""),
    )


def _filter_type(text: str) -> TopicFilterType:
    try:
        return TopicFilterType[text.upper()]
    except KeyError:
        raise _refused(f"{text!r} is no filter type: {', '.join(TopicFilterType.__members__)}") from None


def _refused(remark: str) -> RequestRefused:
    return RequestRefused(ResponseCode.INVALID_PARAMETER, remark)
