"""The parts of pulling, put together."""

from __future__ import annotations

from collections.abc import Callable

from sprocketmq.broker.metrics.stats import Stats
from sprocketmq.broker.pull.admission import PullRules
from sprocketmq.broker.pull.cold_data import ColdReads
from sprocketmq.broker.pull.handler import PullHandler
from sprocketmq.broker.pull.long_polling import LongPolls
from sprocketmq.broker.pull.nothing_found import NothingFound
from sprocketmq.broker.pull.offset_moved import MovedOffsets
from sprocketmq.broker.pull.waiting_requests import WaitingRequests
from sprocketmq.broker.pull.woken_requests import WokenRequests
from sprocketmq.broker.roles import Roles
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.static_topic.handler import LogicalRequests
from sprocketmq.broker.static_topic.mappings import QueueMappings
from sprocketmq.broker.tables.group_members import ConsumerTable
from sprocketmq.broker.tables.groups import GroupTable
from sprocketmq.broker.tables.offsets import ConsumerOffsets
from sprocketmq.broker.tables.topics import TopicTable
from sprocketmq.codes import RequestCode
from sprocketmq.remoting import ProcessorTable
from sprocketmq.store.store import MessageStore


class PullProcessors:
    """`long_polls` are the pulls that wait."""

    def __init__(
        self, settings: Settings, store: MessageStore, topics: TopicTable, groups: GroupTable,
        consumers: ConsumerTable, offsets: ConsumerOffsets, stats: Stats, moved: MovedOffsets, cold: ColdReads,
        mappings: QueueMappings, logical: LogicalRequests, roles: Roles, check_role: Callable[[], object],
    ) -> None:  # fmt: skip
        self.long_polls = LongPolls(store, WaitingRequests(settings), WokenRequests())
        self._handler = PullHandler(
            store.getter, offsets, stats, PullRules(settings, topics, groups, consumers, cold, logical, check_role),
            NothingFound(settings, store, offsets, consumers, stats, moved, cold, self.long_polls, roles),
        )  # fmt: skip
        # Every table that an admission rests on; a reset of an offset is looked for at each pull.
        settings.on_change.append(self._handler.close_all)
        settings.on_store_change.append(self._handler.close_all)
        topics.on_change.append(self._handler.close_all)
        groups.on_change.append(self._handler.close_all)
        consumers.on_change.append(self._handler.close_all)
        mappings.on_change.append(self._mapping_changed)

    def add_to(self, table: ProcessorTable) -> None:
        table.add((RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE), self._handler.pull)

    def close_all(self) -> None:
        """Have every pull asked anew."""
        self._handler.close_all()

    def _mapping_changed(self, topic: str) -> None:
        self._handler.close_all()
        self.long_polls.wake_topic(topic)  # who waits here may have to ask another broker now
