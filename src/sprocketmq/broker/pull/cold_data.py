"""Readers of cold data: what is so far behind the end of the log that the disk has to bring it.

With `coldDataFlowControlEnable`, bytes that a group reads from there are counted. Over its threshold in one period, or
with all groups together over theirs, it is held back until the next period begins:

    push consumers    SYSTEM_BUSY: the client rests for a while
    pull consumers    the answer waits a few seconds, and brings one message

A message is cold when the log went on by more than `accessMessageInMemoryHotRatio` percent of the memory since; with
`coldDataScanEnable` also only when its page is in fact not in memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.broker.settings import Settings
from sprocketmq.protocol.names import is_system_group
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.pull.get import MEMORY_BYTES, GetResult
from sprocketmq.store.store import MessageStore

#: Seconds of a period.
PERIOD_SECONDS = 5.0
#: Seconds that a pull consumer's answer waits.
HOLD_SECONDS = 3.0
#: A group that read nothing cold for so long is forgotten.
_FORGET_MS = 60_000


@dataclass(slots=True)
class ColdGroup:
    """Bytes read in this period; when the group was first and last seen to read cold data."""

    read: int
    first_ms: int
    last_ms: int


class ColdReads:
    """`thresholds` are what an administrator set for single groups; they last as long as the process."""

    def __init__(self, settings: Settings, store: MessageStore, clock: Clock) -> None:
        self.thresholds: dict[str, int] = {}
        self.groups: dict[str, ColdGroup] = {}
        self.read = 0
        self._settings = settings
        self._store = store
        self._clock = clock

    @property
    def is_on(self) -> bool:
        return self._settings.store.cold_data_flow_control_enable

    def holds_back(self, group: str, topic: str, queue_id: int, offset: int) -> bool:
        """Whether the group has read enough, and would read on from the disk."""
        known = self.groups.get(group)
        if known is None or is_system_group(group):
            return False
        config = self._settings.current
        is_over = known.read >= self.thresholds.get(group, config.cg_cold_read_threshold)
        if not is_over and self.read < config.global_cold_read_threshold:
            return False
        return self._is_far(self._commit_offset(topic, queue_id, offset))

    def count(self, group: str, topic: str, queue_id: int, offset: int, result: GetResult) -> None:
        """Note what a pull from `offset` has brought."""
        at = self._commit_offset(topic, queue_id, offset)
        if not result.size or not self._is_far(at) or at is None:
            return
        if self._settings.store.cold_data_scan_enable and self._store.log.is_in_memory(at):
            return
        now = self._clock.now_ms()
        known = self.groups.setdefault(group, ColdGroup(0, now, now))
        known.read += result.size
        known.last_ms = now
        self.read += result.size

    def begin_period(self) -> None:
        oldest = self._clock.now_ms() - _FORGET_MS
        self.groups = {group: known for group, known in self.groups.items() if known.last_ms > oldest}
        for known in self.groups.values():
            known.read = 0
        self.read = 0

    def _commit_offset(self, topic: str, queue_id: int, offset: int) -> int | None:
        entry = self._store.reader.entry(topic, queue_id, offset)
        return None if entry is None else entry.commit_offset

    def _is_far(self, commit_offset: int | None) -> bool:
        hot = MEMORY_BYTES * self._settings.store.access_message_in_memory_hot_ratio // 100
        return commit_offset is not None and self._store.log.max_offset - commit_offset > hot
