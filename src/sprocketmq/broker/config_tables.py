"""The tables that a broker keeps in store/config: topics, groups, offsets, filters, mappings of static topics.

They are loaded before anything is served, and saved beside the loop while it is. A store that was not closed cleanly
may know more than its tables: its topics are taken up, and offsets beyond its queues are taken back.
"""

from __future__ import annotations

from collections.abc import Callable

from sprocketmq.broker.settings import Settings
from sprocketmq.broker.static_topic.mappings import QueueMappings
from sprocketmq.broker.tables.creations import Creations
from sprocketmq.broker.tables.groups import GroupTable
from sprocketmq.broker.tables.offsets import ConsumerOffsets
from sprocketmq.broker.tables.saver import save_all
from sprocketmq.broker.tables.sql_filters import FilterTable
from sprocketmq.broker.tables.topics import TopicTable
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.files.config_files import (
    consumer_filters_file,
    consumer_offsets_file,
    queue_mappings_file,
    subscription_groups_file,
    topics_file,
)
from sprocketmq.store.files.files import Files
from sprocketmq.store.store import MessageStore

#: How long a save of the offsets waits for the log.
_LOG_WAIT_MS = 30_000


class ConfigTables:
    def __init__(self, settings: Settings, store: MessageStore, files: Files, clock: Clock) -> None:
        folder, durable = store.layout.config, settings.store.sync_flush
        self.creations = Creations(settings, clock)
        self.topics = TopicTable(
            topics_file(files, folder), settings, clock, durable=durable, creations=self.creations
        )  # fmt: skip
        self.groups = GroupTable(subscription_groups_file(files, folder), settings, clock, self.creations)
        self.offsets = ConsumerOffsets(consumer_offsets_file(files, folder), clock)
        self.filters = FilterTable(consumer_filters_file(files, folder), settings, clock)
        self.mappings = QueueMappings(queue_mappings_file(files, folder), settings.current.broker_name, clock)
        self.savers = [self.topics.saver, self.groups.saver, self.mappings.saver]
        self._store = store
        self._has_filter_bits = settings.current.enable_calc_filter_bit_map

    def load(self) -> None:
        for table in (self.topics, self.groups, self.offsets, self.filters, self.mappings):
            table.load()

    def follow_log(self) -> None:
        """From now on no table is ahead of the log, nor behind what only the log knows."""
        store = self._store
        if not store.report.clean:
            self.adopt_topics()
            self.offsets.clamp(store.max_offset)
        self.offsets.log_is_safe = self._wait_for_log
        self.filters.stored_ms = lambda: store.appender.store_timestamp
        if store.exts is not None and self._has_filter_bits:
            store.exts.filter_bits = self.filters.bits

    def adopt_topics(self) -> None:
        """Topics that the log knows and the table does not, for the news of them did not come in time."""
        found = {topic: self._store.queues.of_topic(topic) for topic in self._store.topics()}
        # One whose queues are older than the log has none left.
        self.topics.adopt({topic: max(queues) + 1 for topic, queues in found.items() if queues})

    def save(self) -> bool:
        """Whether every table is in its file. Offsets are saved when the log is: they must not be ahead of it."""
        saves: list[Callable[[], object]] = [*(saver.close for saver in self.savers), self.filters.save]
        if self._store.failure is None:
            self._store.flusher.flush()  # `close` dispatches: what cannot be must not keep tables from it
            saves.append(self.offsets.save)
        return save_all(saves)

    def _wait_for_log(self) -> None:
        """On the thread that saves: as far as the log is written now, it is on disk when this returns."""
        end = self._store.log.max_offset
        self._store.flusher.flush_soon()
        if not self._store.flusher.wait(end, _LOG_WAIT_MS):
            raise TimeoutError("the log was not flushed in time")
