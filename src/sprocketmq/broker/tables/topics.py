"""The topics of this broker: what may be sent to them, how many queues they have, and how new ones come to be.

A send to a topic that nobody has heard of names a topic to make it after, TBW102 as a rule. That one must have the
inherit bit; the new topic gets as many queues as the sender asks for, at most as many as the model has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from sprocketmq.broker.config import BrokerConfig
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.tables.saver import Saver
from sprocketmq.codes import ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.logs import Events
from sprocketmq.protocol import names
from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.protocol.bodies.topic import PERM_INHERIT, PERM_READ, PERM_WRITE, TopicConfig
from sprocketmq.store.files.config_files import ConfigFile, SavedTopics
from sprocketmq.store.files.files import Clock
from sprocketmq.store.files.table_text import TableText

events = Events("sprocketmq.broker.topics")

READ_WRITE = PERM_READ | PERM_WRITE
INHERITED = READ_WRITE | PERM_INHERIT
#: Bits of a topic's sys flag.
UNIT, UNIT_SUBSCRIPTION = 1, 2

#: Told of a topic that is new or changed, and of None when topics were deleted.
TopicChanged = Callable[[TopicConfig | None], object]


class TopicTable:
    """`durable` says whether a new topic must be on disk before its first message is acknowledged."""

    def __init__(self, file: ConfigFile[SavedTopics], settings: Settings, clock: Clock, *, durable: bool) -> None:
        self.configs: dict[str, TopicConfig] = {}
        self.data_version = DataVersion(timestamp=clock.now_ms())
        self.on_change: list[TopicChanged] = []
        self.saver = Saver("topics", self._take)
        self._file = file
        self._settings = settings
        self._clock = clock
        self._durable = durable
        self._touched: dict[str, None] = {}
        self._text: TableText[TopicConfig] = TableText(
            lambda table: file.encode(SavedTopics(topic_config_table=table)), lambda topic: self.configs.get(topic)
        )

    def load(self) -> None:
        """What was kept, and the system's topics."""
        kept = self._file.load()
        if kept is not None:
            self.configs = dict(kept.topic_config_table)
            self.data_version = kept.data_version
        missing = [config for config in system_topics(self._settings) if config.topic_name not in self.configs]
        self.configs |= {config.topic_name: config for config in missing}
        if not self._settings.current.auto_create_topic_enable:
            self.configs.pop(names.DEFAULT_TOPIC, None)
        if missing or kept is None:
            self.saver.changed()
        self._touched.update(dict.fromkeys(self.configs))
        self.saver.close()

    def get(self, topic: str) -> TopicConfig | None:
        return self.configs.get(topic)

    def create_by_send(self, topic: str, model: str, queue_nums: int, sys_flag: int = 0) -> TopicConfig:
        """The topic that a send of `topic` makes after `model`; refuses with TOPIC_NOT_EXIST where it may not."""
        after = self.configs.get(model)
        if after is None or not after.inherited or not self._settings.current.auto_create_topic_enable:
            raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, f"no topic {topic}, and it is not created by a send")
        count = max(0, min(queue_nums, after.write_queue_nums))
        config = TopicConfig(
            topic_name=topic,
            read_queue_nums=count,
            write_queue_nums=count,
            perm=after.perm & ~PERM_INHERIT,
            topic_filter_type=after.topic_filter_type,
            topic_sys_flag=sys_flag,
        )
        self._add({topic: config}, "send")
        return config

    def create_own(self, topic: str, queue_nums: int, perm: int = READ_WRITE, sys_flag: int = 0) -> TopicConfig:
        """A topic that the broker needs for itself, such as a retry topic; the one that is there, if there is."""
        self.create_all_own([own_topic(topic, queue_nums, perm, sys_flag)])
        return self.configs[topic]

    def create_all_own(self, configs: Sequence[TopicConfig]) -> None:
        """Those of them that are not there yet, with one write to disk."""
        new = {config.topic_name: config for config in configs if config.topic_name not in self.configs}
        if new:
            self._add(new, "broker")

    def adopt(self, queues: Mapping[str, int]) -> None:
        """After a crash: a topic that has messages, in so many queues, but no entry, was about to be saved."""
        for topic, count in queues.items():
            if topic not in self.configs and names.topic_fault(topic) is None:
                config = _topic(topic, max(count, 1 if topic.startswith("%") else self._default_queues()))
                self.configs[topic] = config
                self._touched[topic] = None
                self.data_version = self.data_version.next(self._clock.now_ms())
                events.warning("topic adopted", topic=topic, queues=config.write_queue_nums)
        self.saver.save_now()

    def _default_queues(self) -> int:
        """What a producer asks for by default, within what is allowed."""
        return min(4, self._settings.current.default_topic_queue_nums)

    def put(self, config: TopicConfig) -> None:
        """Create or replace a topic, as an administrator does: it is on disk when this returns."""
        self.put_all([config])

    def put_all(self, configs: Sequence[TopicConfig]) -> None:
        """Several at once, with one write to disk."""
        self._change({config.topic_name: config for config in configs}, durable=True)

    def delete(self, topic: str) -> bool:
        if topic not in self.configs:
            return False
        self._change({topic: None}, durable=True)
        return True

    def names_of_system(self) -> frozenset[str]:
        return frozenset(config.topic_name for config in system_topics(self._settings))

    def _add(self, configs: Mapping[str, TopicConfig], by: str) -> None:
        self._change(configs, durable=self._durable)
        for config in configs.values():
            events.info("topic created", topic=config.topic_name, queues=config.write_queue_nums, by=by)

    def _change(self, changes: Mapping[str, TopicConfig | None], *, durable: bool) -> None:
        """Put topics, or delete those of None. What must be on disk and cannot be is as it was before."""
        before = {topic: self.configs.get(topic) for topic in changes}
        self._set(changes)
        if durable:
            try:
                self.saver.save_now()
            except BaseException:
                self._set(before)
                raise
        else:
            self.saver.soon()
        for config in changes.values():
            for hook in self.on_change:
                hook(config)

    def _set(self, changes: Mapping[str, TopicConfig | None]) -> None:
        for topic, config in changes.items():
            if config is None:
                self.configs.pop(topic, None)
            else:
                self.configs[topic] = config
        self._touched.update(dict.fromkeys(changes))
        self.data_version = self.data_version.next(self._clock.now_ms())
        self.saver.changed()

    def _take(self) -> Callable[[], None]:
        touched, self._touched = self._touched, {}
        return partial(self._write, touched, self.data_version)

    def _write(self, touched: Iterable[str], version: DataVersion) -> None:
        self._file.write(self._text.text(self._file.encode(SavedTopics(data_version=version)), touched))


def system_topics(settings: Settings) -> list[TopicConfig]:
    """The topics that every broker has, as RocketMQ 5 makes them."""
    config = settings.current
    cluster, broker = config.broker_cluster_name, config.broker_name
    levels = len(settings.store.delay_level_ms)
    return [
        _topic(names.SELF_TEST_TOPIC, 1),
        *_auto_create_model(config),
        _topic(names.BENCHMARK_TOPIC, 1024),
        _topic(cluster, 16, INHERITED if config.cluster_topic_enable else PERM_INHERIT),
        _topic(broker, 1, INHERITED if config.broker_topic_enable else PERM_INHERIT),
        _topic(names.OFFSET_MOVED_TOPIC, 1),
        _topic(names.SCHEDULE_TOPIC, levels),
        *([_topic(config.msg_trace_topic_name, 1)] if config.trace_topic_enable else []),
        _topic(f"{cluster}_REPLY_TOPIC", 1),
        _topic(f"rmq_sys_REVIVE_LOG_{cluster}", config.revive_queue_num),
        _topic(f"rmq_sys_SYNC_BROKER_MEMBER_{broker}", 1, PERM_INHERIT),
        _topic(names.TRANSACTION_HALF_TOPIC, 1),
        _topic(names.TRANSACTION_OP_TOPIC, 1),
        *([_topic(names.TIMER_TOPIC, 1)] if config.timer_wheel_enable else []),
    ]


def _auto_create_model(config: BrokerConfig) -> list[TopicConfig]:
    if not config.auto_create_topic_enable:
        return []
    return [_topic(names.DEFAULT_TOPIC, config.default_topic_queue_nums, INHERITED)]


def own_topic(topic: str, queue_nums: int, perm: int = READ_WRITE, sys_flag: int = 0) -> TopicConfig:
    """A topic that the broker needs for itself, such as a retry topic."""
    return replace(_topic(topic, queue_nums, perm), topic_sys_flag=sys_flag)


def _topic(name: str, queues: int, perm: int = READ_WRITE) -> TopicConfig:
    return replace(TopicConfig(topic_name=name), read_queue_nums=queues, write_queue_nums=queues, perm=perm)
