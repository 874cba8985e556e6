"""How far each consumer group has come, per topic and queue.

committed   what a group has consumed; saved every few seconds and at the end, as far as the log is on disk, and what
            a new consumer begins with
pulled      what it has been given; kept in memory for the figures
reset       set by an administrator: the next pull of that queue is sent there, and commits are ignored until then
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from sprocketmq.broker.tables.saver import Saver
from sprocketmq.logs import Events
from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.files.config_files import ConfigFile, SavedOffsets
from sprocketmq.store.files.table_text import TableText

events = Events("sprocketmq.broker.offsets")

SEPARATOR = "@"


class ConsumerOffsets:
    """Keys are `topic@group`, as in consumerOffset.json."""

    def __init__(self, file: ConfigFile[SavedOffsets], clock: Clock) -> None:
        self.table: dict[str, dict[int, int]] = {}
        self.pulled: dict[str, dict[int, int]] = {}
        self.resets: dict[str, dict[int, int]] = {}
        self.data_version = DataVersion(timestamp=clock.now_ms())
        #: When the file was saved that was loaded; 0 without one.
        self.saved_ms = 0
        #: Waits until the log is on disk as far as it is written; called on the thread that saves.
        self.log_is_safe: Callable[[], object] = lambda: None
        self.saver = Saver("offsets", self._take)
        self._file = file
        self._clock = clock
        self._changed: dict[str, None] = {}
        self._text: TableText[Mapping[int, int]] = TableText(
            lambda table: file.encode(SavedOffsets(offset_table=table)), self._copy
        )

    def load(self) -> None:
        kept = self._file.load()
        if kept is not None:
            self.table = {key: dict(offsets) for key, offsets in kept.offset_table.items()}
            self.data_version = kept.data_version
            self.saved_ms = kept.data_version.timestamp
            self._changed.update(dict.fromkeys(self.table))

    def clamp(self, max_offset: Callable[[str, int], int]) -> None:
        """After a crash: what a group consumed beyond a queue's end is lost, and what comes there next is new to it."""
        for key, queues in self.table.items():
            topic = _parts(key)[0]
            for queue_id, offset in queues.items():
                end = max_offset(topic, queue_id)
                if offset > end:
                    queues[queue_id] = end
                    self._note(key)
                    events.warning(
                        "offset set back to the queue's end", key=key, queue_id=queue_id, offset=offset, end=end
                    )

    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Note what a group has consumed. It may go back: an administrator or the client itself may want that."""
        self.commit_by(key_of(group, topic), queue_id, offset)

    def commit_by(self, key: str, queue_id: int, offset: int) -> None:
        if key in self.resets and queue_id in self.resets[key]:
            return
        queues = self.table.get(key)
        if queues is None:
            queues = self.table[key] = {}
        if queues.get(queue_id) != offset:
            queues[queue_id] = offset
            self._note(key)

    def _note(self, key: str) -> None:
        self._changed[key] = None
        self.saver.changed()

    def pull_by(self, key: str, queue_id: int, offset: int) -> None:
        """Note what a group has been given."""
        queues = self.pulled.get(key)
        if queues is None:
            queues = self.pulled[key] = {}
        queues[queue_id] = offset

    def query(self, group: str, topic: str, queue_id: int) -> int | None:
        """The committed offset; where a reset is pending, the offset it leads to. None when there is no record."""
        key = key_of(group, topic)
        if key in self.resets and queue_id in self.resets[key]:
            return self.resets[key][queue_id]
        return self.table.get(key, {}).get(queue_id)

    def queues(self, group: str, topic: str) -> dict[int, int]:
        """The committed offset of every queue that has one."""
        return dict(self.table.get(key_of(group, topic), {}))

    def topics_of(self, group: str) -> set[str]:
        return {topic for topic, _, owner in map(_parts, self.table) if owner == group}

    def topics_by_group(self) -> dict[str, list[str]]:
        table: dict[str, list[str]] = {}
        for key in sorted(self.table):
            topic, _, group = _parts(key)
            table.setdefault(group, []).append(topic)
        return table

    def groups_of(self, topic: str) -> set[str]:
        return {group for name, _, group in map(_parts, self.table) if name == topic}

    def reset(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Send the next pull of this queue to `offset`."""
        key = key_of(group, topic)
        self.resets.setdefault(key, {})[queue_id] = offset
        self.table.setdefault(key, {})[queue_id] = offset
        self._note(key)

    def place(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Let the group go on at `offset`, whatever was pending; for one that nobody consumes for now."""
        self.take_reset(group, topic, queue_id)
        self.commit(group, topic, queue_id, offset)

    def is_reset(self, group: str, topic: str, queue_id: int) -> bool:
        """Whether a reset is pending."""
        return queue_id in self.resets.get(key_of(group, topic), ())

    def take_reset(self, group: str, topic: str, queue_id: int) -> int | None:
        """The pending reset of this queue, which is over with this call."""
        key = key_of(group, topic)
        queues = self.resets.get(key)
        offset = None if queues is None else queues.pop(queue_id, None)
        if queues is not None and not queues:
            del self.resets[key]
        return offset

    @property
    def changes(self) -> int:
        """Counts what was changed, for those who hold a copy."""
        return self.saver.changes

    def inherit(self, before: Mapping[str, Mapping[int, int]], now: Mapping[str, Mapping[int, int]]) -> None:
        """For a slave: what groups have committed at its master, as it was told before and as it is now.

        Groups may commit here too. So an offset that is smaller than the one here counts only when it went back at the
        master, where somebody wanted that.
        """
        for key, queues in now.items():
            told = before.get(key, {})
            for queue_id, offset in queues.items():
                known = self.table.get(key, {}).get(queue_id)
                if known is None or offset > known or offset < told.get(queue_id, offset):
                    self.commit_by(key, queue_id, offset)
        for key in before:
            if key not in now and self.table.pop(key, None) is not None:
                self._note(key)

    def restart_queue(self, topic: str, queue_id: int) -> None:
        """The queue begins again at 0: every group that consumes it does too, or it would miss what comes."""
        for key, queues in self.table.items():
            if _parts(key)[0] == topic and queues.get(queue_id):
                queues[queue_id] = 0
                self._note(key)
        for table in (self.pulled, self.resets):
            for key, queues in table.items():
                if _parts(key)[0] == topic:
                    queues.pop(queue_id, None)

    def forget_group(self, group: str) -> None:
        self._forget(lambda _topic, owner: owner == group)

    def forget_topic(self, topic: str) -> None:
        self._forget(lambda name, _group: name == topic)

    def _forget(self, is_gone: Callable[[str, str], bool]) -> None:
        for table in (self.table, self.pulled, self.resets):
            for key in [key for key in table if is_gone(_parts(key)[0], _parts(key)[2])]:
                del table[key]
                self._changed[key] = None
        self.saver.changed()

    def save(self) -> None:
        """Write the file here, when something changed since the last time; for a stop, when the log is on disk."""
        safe, self.log_is_safe = self.log_is_safe, lambda: None
        try:
            self.saver.close()
        finally:
            self.log_is_safe = safe

    def _take(self) -> Callable[[], None]:
        self._text.note(self._changed)
        self._changed = {}
        self.data_version = self.data_version.next(self._clock.now_ms())
        return partial(self._write, self.data_version, self.log_is_safe)

    def _write(self, version: DataVersion, log_is_safe: Callable[[], object]) -> None:
        """What a group has consumed may be on disk only when the log is, or a power cut leaves it ahead of its queue:
        the next messages that come there would be taken for consumed.
        """
        text = self._text.text(self._file.encode(SavedOffsets(data_version=version)))
        log_is_safe()
        self._file.write(text)

    def _copy(self, key: str) -> dict[int, int] | None:
        """The loop goes on committing: one call copies a dict as a whole."""
        queues = self.table.get(key)
        return None if queues is None else queues.copy()


def key_of(group: str, topic: str) -> str:
    return f"{topic}{SEPARATOR}{group}"


def _parts(key: str) -> tuple[str, str, str]:
    return key.partition(SEPARATOR)
