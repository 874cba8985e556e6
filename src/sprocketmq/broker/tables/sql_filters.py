"""The SQL92 subscriptions of all groups, kept in consumerFilter.json, and the bloom bits that follow from them.

With `enableConsumeQueueExt` and `enableCalcFilterBitMap` each message that is dispatched is held against every group's
expression once, and the result is kept as bits beside its queue entry; pulls then skip what does not match without
reading it. Bits say nothing of messages from before a subscription was born; as store times never go back, it is born
no earlier than the last of them, whatever the clock says. A group that is gone is kept for a day.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from sys import getsizeof

from sprocketmq.broker.settings import Settings
from sprocketmq.broker.tables.saver import Saver
from sprocketmq.broker.tables.subscriptions import GroupSubscription, PropertyRule, subscription_of
from sprocketmq.errors import FilterError
from sprocketmq.filter.bloom import BloomFilter, set_bits
from sprocketmq.filter.expression import SqlFilter
from sprocketmq.filter.sql import compile_sql
from sprocketmq.logs import Events
from sprocketmq.protocol.bodies.heartbeat import SubscriptionData
from sprocketmq.protocol.names import SQL92, is_retry_topic
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.files.config_files import BloomBits, ConfigFile, ConsumerFilter, ConsumerFilters, TopicFilters

events = Events("sprocketmq.broker.filters")

#: What the filters of groups that are gone may take, and what one takes beside its expression.
_GONE_BYTES, _ENTRY_BYTES = 8 << 20, 1024


@dataclass(slots=True)
class _Entry:
    kept: ConsumerFilter
    rule: SqlFilter | None


class FilterTable:
    def __init__(self, file: ConfigFile[ConsumerFilters], settings: Settings, clock: Clock) -> None:
        config = settings.current
        self.bloom = BloomFilter(config.max_error_rate_of_bloom_filter, config.expect_consumer_num_use_filter)
        #: The store time of the last message.
        self.stored_ms: Callable[[], int] = lambda: 0
        self._topics: dict[str, dict[str, _Entry]] = {}
        #: (topic, group) of those whose groups are gone, in the order they went, and their bytes.
        self._gone: dict[tuple[str, str], int] = {}
        self._gone_bytes = 0
        self.refused = 0
        #: The topics that groups filter now.
        self._filtered: dict[str, set[str]] = {}
        self._file = file
        self._settings = settings
        self._clock = clock
        self.saver = Saver("filters", self._take)

    def load(self) -> None:
        """Nobody is here yet, so every group counts as gone until its heartbeat comes."""
        kept = self._file.load()
        now = self._clock.now_ms()
        for topic, filters in ({} if kept is None else kept.filter_data_by_topic).items():
            for group, data in filters.group_filter_data.items():
                self._keep_gone(topic, group, replace(data, dead_time=data.dead_time or now, dead=True))

    def subscribe(self, group: str, data: SubscriptionData) -> GroupSubscription:
        """A group's subscription, compiled; an SQL92 one is kept. Raises FilterError."""
        if data.expression_type != SQL92 or is_retry_topic(data.topic):
            return subscription_of(data)
        rule = self._rule(group, data)
        return GroupSubscription(data, PropertyRule(rule))

    def _rule(self, group: str, data: SubscriptionData) -> SqlFilter:
        known = self._topics.get(data.topic, {}).get(group)
        if known is not None and known.rule is not None and known.kept.expression == data.sub_string:
            return known.rule
        filtered = self._filtered.setdefault(group, set())
        most = self._settings.current.max_sql_filters_per_group
        if len(filtered) >= most and data.topic not in filtered:
            self.refused += 1
            raise FilterError(f"group {group} has {most} SQL92 subscriptions already")
        bloom = self.bloom.data(group, data.topic)
        now = max(self._clock.now_ms(), self.stored_ms())
        rule = SqlFilter(compile_sql(data.sub_string), bloom, now)
        kept = ConsumerFilter(
            consumer_group=group,
            topic=data.topic,
            expression=data.sub_string,
            expression_type=SQL92,
            born_time=now,
            client_version=data.sub_version,
            bloom_filter_data=BloomBits(bit_num=bloom.bit_count, bit_pos=bloom.positions),
        )
        self._forget_gone(data.topic, group)
        self._topics.setdefault(data.topic, {})[group] = _Entry(kept, rule)
        filtered.add(data.topic)
        self.saver.changed()
        return rule

    def group_gone(self, group: str) -> None:
        now = self._clock.now_ms()
        for topic in self._filtered.pop(group, ()):
            entry = self._topics.get(topic, {}).get(group)
            if entry is not None and entry.rule is not None:
                self._keep_gone(topic, group, replace(entry.kept, dead_time=now, dead=True))

    def _keep_gone(self, topic: str, group: str, kept: ConsumerFilter) -> None:
        """For a while, as far as there is room: those that went first make it."""
        self._topics.setdefault(topic, {})[group] = _Entry(kept, None)
        size = self._gone[topic, group] = _ENTRY_BYTES + getsizeof(kept.expression)
        self._gone_bytes += size
        while self._gone_bytes > _GONE_BYTES:
            self._forget_gone(*next(iter(self._gone)))
        self.saver.changed()

    def _forget_gone(self, topic: str, group: str) -> None:
        size = self._gone.pop((topic, group), None)
        if size is None:
            return
        self._gone_bytes -= size
        del self._topics[topic][group]
        if not self._topics[topic]:
            del self._topics[topic]
        self.saver.changed()

    def bits(self, topic: str, properties: bytes) -> bytes | None:
        """The bits of the groups that want this message; None when no group of the topic filters."""
        groups = self._topics.get(topic)
        if not groups:
            return None
        bit_map = self.bloom.empty_map()
        for group, entry in groups.items():
            if entry.rule is not None and entry.rule.match_properties(properties):
                set_bits(bit_map, self.bloom.data(group, topic).positions)
        return bytes(bit_map)

    def begin_save(self) -> None:
        """Forget who is gone for long, and have the file written when something changed."""
        self._forget_dead()
        self.saver.begin()

    def save(self) -> None:
        """The same for a stop: the file is written when this returns."""
        self._forget_dead()
        self.saver.close()

    def _take(self) -> Callable[[], None]:
        kept = {
            topic: TopicFilters(topic=topic, group_filter_data={group: e.kept for group, e in groups.items()})
            for topic, groups in self._topics.items()
        }
        return partial(self._file.save, ConsumerFilters(filter_data_by_topic=kept))

    def _forget_dead(self) -> None:
        limit = self._clock.now_ms() - self._settings.current.filter_data_clean_time_span
        for topic, group in list(self._gone):
            if self._topics[topic][group].kept.dead_time < limit:
                self._forget_gone(topic, group)
