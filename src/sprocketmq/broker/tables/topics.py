"""The topics of this broker: what may be sent to them, how many queues they have, and how new ones come to be.

A send to a topic that nobody has heard of names a topic to make it after, TBW102 as a rule. That one must have the
inherit bit; the new topic gets as many queues as the sender asks for, at most as many as the model has.

The table is saved beside the loop. What an administrator changes is answered when it is on disk, and is as it was
before when it cannot be. A topic that came by itself is there at once; where that is promised, its messages are
acknowledged when it is on disk (`unsaved`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from sprocketmq.broker.config import BrokerConfig
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.tables.creations import Creations
from sprocketmq.broker.tables.saver import Saver
from sprocketmq.codes import ResponseCode
from sprocketmq.errors import RequestRefused, TooMany
from sprocketmq.logs import Events
from sprocketmq.protocol import names
from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.protocol.permissions import PERM_INHERIT, PERM_READ, PERM_WRITE
from sprocketmq.remoting.peer import Peer
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.files.config_files import ConfigFile, SavedTopics
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

    def __init__(
        self, file: ConfigFile[SavedTopics], settings: Settings, clock: Clock, *, durable: bool,
        creations: Creations | None = None,
    ) -> None:  # fmt: skip
        self.configs: dict[str, TopicConfig] = {}
        self.data_version = DataVersion(timestamp=clock.now_ms())
        self.on_change: list[TopicChanged] = []
        self.saver = Saver("topics", self._take, longest_rest=0.5)
        self.saver.on_saved.append(self._forget_saved)
        self._file = file
        self._settings = settings
        self._clock = clock
        self._durable = durable
        self._creations = creations or Creations(settings, clock)
        self._touched: dict[str, None] = {}
        self._closed: set[str] = set()
        self._unsaved: dict[str, int] = {}
        self._plain = 0  # topics that are not the broker's own for a group, which sends may make
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
        self._plain = sum(map(_is_plain, self.configs))
        if missing or kept is None:
            self.saver.changed()
        self._touched.update(dict.fromkeys(self.configs))
        self.saver.close()

    def get(self, topic: str) -> TopicConfig | None:
        return None if topic in self._closed else self.configs.get(topic)

    @contextmanager
    def closed(self, topics: Sequence[str]) -> Iterator[None]:
        """While these are being deleted nobody sends to them, and no send makes them anew."""
        self._closed.update(topics)
        self._tell(None)
        try:
            yield
        finally:
            self._closed.difference_update(topics)
            self._tell(None)

    def unsaved(self, topic: str) -> int:
        """Which change must be on disk before a message of the topic is acknowledged; 0 when none must be."""
        return self._unsaved.get(topic, 0)

    def _forget_saved(self) -> None:
        saved = self.saver.saved_changes
        self._unsaved = {topic: change for topic, change in self._unsaved.items() if change > saved}

    def create_by_send(
        self, topic: str, model: str, queue_nums: int, sys_flag: int = 0, peer: Peer | None = None
    ) -> TopicConfig:
        """The topic that a send of `topic` makes after `model`; refuses with TOPIC_NOT_EXIST where it may not."""
        after = self.configs.get(model)
        if after is None or not after.inherited or not self._settings.current.auto_create_topic_enable:
            raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, f"no topic {topic}, and it is not created by a send")
        if topic in self._closed:
            raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, f"topic {topic} is being deleted")
        self.refuse_too_many(topic, peer)
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

    def refuse_too_many(self, topic: str, peer: Peer | None) -> None:
        """TooMany when `peer` may make no further topic by a send."""
        limit = self._settings.current.max_auto_created_topics
        if self._creations.refuses(peer, self._plain, limit):
            events.warning("topic not created", topic=topic, peer=peer)
            remark = f"no topic {topic}, and sends have created too many, or too many just now"
            raise TooMany(ResponseCode.TOPIC_NOT_EXIST, remark)

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
                self._put(topic, config)
                self._touched[topic] = None
                self.data_version = self.data_version.next(self._clock.now_ms())
                events.warning("topic adopted", topic=topic, queues=config.write_queue_nums)
        self.saver.soon()

    def _default_queues(self) -> int:
        """What a producer asks for by default, within what is allowed."""
        return min(4, self._settings.current.default_topic_queue_nums)

    async def put(self, config: TopicConfig) -> None:
        """Create or replace a topic, as an administrator does: it is on disk when this returns."""
        await self.put_all([config])

    async def put_all(self, configs: Sequence[TopicConfig]) -> None:
        """Several at once, with one write to disk."""
        await self._keep({config.topic_name: config for config in configs})

    async def delete(self, *topics: str) -> None:
        """Those of them that are there; they are gone from the disk when this returns."""
        if known := [topic for topic in topics if topic in self.configs]:
            await self._keep(dict.fromkeys(known))

    def inherit(self, configs: Mapping[str, TopicConfig], version: DataVersion) -> list[str]:
        """For a slave: the same topics as its master, and their version. Returns those that are gone."""
        gone = [topic for topic in self.configs if topic not in configs]
        changes: dict[str, TopicConfig | None] = {
            topic: config for topic, config in configs.items() if self.configs.get(topic) != config
        }
        changes |= dict.fromkeys(gone)
        if changes:
            self._change(changes)
            self.saver.soon()
        if version != self.data_version:
            self.data_version = version
            self.saver.soon()
        return gone

    def set_state_version(self, version: int) -> None:
        """Under a controller: the epoch of the master, which a nameserver compares first."""
        if self.data_version.state_version != version:
            self.data_version = replace(self.data_version.next(self._clock.now_ms()), state_version=version)
            self.saver.soon()

    def names_of_system(self) -> frozenset[str]:
        return frozenset(config.topic_name for config in system_topics(self._settings))

    def _add(self, configs: Mapping[str, TopicConfig], by: str) -> None:
        self._change(configs)
        if self._durable:
            self.saver.at_once()
            self._unsaved |= dict.fromkeys(configs, self.saver.changes)
        else:
            self.saver.soon()
        for config in configs.values():
            events.info("topic created", topic=config.topic_name, queues=config.write_queue_nums, by=by)

    async def _keep(self, changes: Mapping[str, TopicConfig | None]) -> None:
        """What cannot be on disk is as it was before, unless somebody else has changed it meanwhile."""
        before = {topic: self.configs.get(topic) for topic in changes}
        self._change(changes)
        try:
            await self.saver.saved()
        except BaseException:
            self._change({topic: was for topic, was in before.items() if self.configs.get(topic) is changes[topic]})
            raise

    def _change(self, changes: Mapping[str, TopicConfig | None]) -> None:
        """Put topics, or delete those of None."""
        for topic, config in changes.items():
            self._put(topic, config)
        self._touched.update(dict.fromkeys(changes))
        self.data_version = self.data_version.next(self._clock.now_ms())
        self.saver.changed()
        for config in changes.values():
            self._tell(config)

    def _tell(self, config: TopicConfig | None) -> None:
        for hook in self.on_change:
            hook(config)

    def _put(self, topic: str, config: TopicConfig | None) -> None:
        if _is_plain(topic):
            self._plain += (config is not None) - (topic in self.configs)
        if config is None:
            self.configs.pop(topic, None)
        else:
            self.configs[topic] = config

    def _take(self) -> Callable[[], None]:
        self._text.note(self._touched)
        self._touched = {}
        return partial(self._write, self.data_version)

    def _write(self, version: DataVersion) -> None:
        self._file.write(self._text.text(self._file.encode(SavedTopics(data_version=version))))


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


def _is_plain(topic: str) -> bool:
    return topic[:1] != "%"


def own_topic(topic: str, queue_nums: int, perm: int = READ_WRITE, sys_flag: int = 0) -> TopicConfig:
    """A topic that the broker needs for itself, such as a retry topic."""
    return replace(_topic(topic, queue_nums, perm), topic_sys_flag=sys_flag)


def _topic(name: str, queues: int, perm: int = READ_WRITE) -> TopicConfig:
    return replace(TopicConfig(topic_name=name), read_queue_nums=queues, write_queue_nums=queues, perm=perm)
