# cython: annotation_typing=False
"""From the log to the queues and the index: what RocketMQ calls reput.

Records are dispatched in the order of the log, each to its ConsumeQueue and then to the index. Dispatching a record
twice changes nothing, so recovery may begin early. After a crash it is `mending`: an entry that the power cut may have
torn is compared with its record, and units of the extension are written once more. A record of a topic that was deleted
since is in the index alone. A queue whose file cannot be written is `held`: its records are noted, and those of other
queues go on.

    transaction bits     queue   index
    none, committed      yes     yes
    prepared             no      yes
    rolled back          no      no
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.errors import MessageIllegal, QueueUnwritable, StoreError
from sprocketmq.protocol.record.record import RecordParts
from sprocketmq.store.dispatch.property_scan import PropertyScan
from sprocketmq.store.dispatch.record_dispatch import delay_ms
from sprocketmq.store.files.bad_pages import BAD_PAGES
from sprocketmq.store.index.cursor import IndexCursor
from sprocketmq.store.queue.cursor import QueueCursor, is_tearable

if not cython.compiled:
    from sprocketmq.hot.memory import Pointer, as_int32, pointer
    from sprocketmq.hot.octets import cut, i32, i64, same, text
    from sprocketmq.protocol.record.hashing import hash_octets, positive
    from sprocketmq.protocol.record.record import FIXED_BYTES, NO_MAGIC, WHOLE, WRONG_PARTS
    from sprocketmq.protocol.record.sysflag import is_indexed, is_queued

#: Records that may wait for one queue.
MAX_HELD = 1_000_000

OpenQueue = Callable[[str, int], QueueCursor]
OnDispatch = Callable[[str, int, int, int, int, bytes], object]
OnHold = Callable[[QueueCursor, QueueUnwritable], object]
Extend = Callable[[QueueCursor, int, int, int, bytes], int]


class Dispatcher:
    """`queues` is kept by whoever opens them; `dispatched_offset` is the end of the last record dealt with."""

    def __init__(
        self, queues: dict[str, dict[int, QueueCursor]], open_queue: OpenQueue, index: IndexCursor | None,
        delay_level_ms: tuple[int, ...],
    ) -> None:  # fmt: skip
        self.queues = queues
        self.index = index
        self.delay_level_ms = delay_level_ms
        self.dispatched_offset = 0
        self.store_timestamp = 0
        self.on_dispatch: OnDispatch | None = None
        self.extend: Extend | None = None
        self.mending = 0  # else the size of a queue file
        #: By queue, the records that wait for its file: commit offset, size, store time.
        self.held: dict[QueueCursor, list[tuple[int, int, int]]] = {}
        self.on_hold: OnHold | None = None
        self._open_queue = open_queue
        self._layout = RecordParts()
        self._found = PropertyScan()
        self._shared = PropertyScan()
        self._last: QueueCursor | None = None

    def queue(self, topic: str, queue_id: int) -> QueueCursor:
        """The queue's cursor; a queue that is not there yet begins here."""
        of_topic = self.queues.get(topic)
        if of_topic is not None:
            cursor = of_topic.get(queue_id)
            if cursor is not None:
                return cursor
        return self._open_queue(topic, queue_id)

    def walk(self, view: memoryview, base: int, at: int, end: int, check_crc: bool) -> int:
        """Dispatch the records of one log file from `at` to `end`.

        Stops after the last whole one, with `dispatched_offset` behind it, and says what is there instead: BLANK at
        the file's end, NO_MAGIC where nothing was written, or a kind of damage; WHOLE when `end` was reached.
        """
        p: Pointer = pointer(view)  # without bounds when compiled: `locate` looks no further than `end`
        layout = self._layout
        kind = WHOLE
        self._last = None  # queues may have been forgotten since the walk before
        while at < end:
            kind = layout.locate(p, at, end)
            if kind == WHOLE and check_crc:
                kind = layout.check(p)
            if kind == WHOLE and i64(p, at + 28) != base + at:
                kind = NO_MAGIC  # a record of another place: left over, not written here
            cursor = self.queue_of(p, base + at) if kind == WHOLE else None
            BAD_PAGES.check()
            if cursor is None:
                return WRONG_PARTS if kind == WHOLE else kind
            self.dispatch(
                cursor, p, layout.properties_at, layout.properties_end, layout.properties_end, base + at, layout.size,
                layout.sys_flag, i64(p, at + 20), i64(p, layout.store_time_at),
            )  # fmt: skip
            at += layout.size
            self.dispatched_offset = base + at
        return kind

    def queue_of(self, p: Pointer, commit_offset: int) -> QueueCursor | None:
        """The queue of the record that was just located; None when what its header says cannot be.

        No checksum covers the header. But a topic has a legal name, and so many messages as the record's queue offset
        says must have had room before it in the log.
        """
        layout = self._layout
        queue_id, queue_offset = i32(p, layout.at + 12), i64(p, layout.at + 20)
        if queue_id < 0 or queue_offset < 0 or queue_offset > commit_offset // FIXED_BYTES:
            return None
        last, length = self._last, layout.topic_end - layout.topic_at
        if (
            last is not None and last.queue_id == queue_id and len(last.topic_bytes) == length
            and same(p, layout.topic_at, last.topic_bytes, 0, length)
        ):  # fmt: skip
            return last  # neighbours often share a queue
        try:
            self._last = self.queue(text(p, layout.topic_at, layout.topic_end), queue_id)
            return self._last
        except (MessageIllegal, UnicodeDecodeError):
            return None

    def share(self, properties: bytes) -> None:
        """The records that are dispatched next have these at the end of their properties."""
        self._shared.scan(properties, 0, len(properties))

    def dispatch(
        self, cursor: QueueCursor, p: Pointer, at: int, own_end: int, end: int, commit_offset: int, size: int,
        sys_flag: int, queue_offset: int, store_timestamp: int,
    ) -> None:  # fmt: skip
        """One record, whose properties are `p[at:end]`; those from `own_end` on are shared."""
        self._found.scan(p, at, own_end)
        if own_end < end:
            self._found.follow(self._shared, own_end)
        BAD_PAGES.check()
        self.store_timestamp = store_timestamp
        if is_queued(sys_flag):
            if commit_offset < cursor.deleted_below and store_timestamp <= cursor.deleted_until:
                pass  # its topic was deleted since
            elif (
                self.mending != 0 and queue_offset < cursor.max_offset
                and (queue_offset > 0 or commit_offset + size <= cursor.max_commit_offset)  # else it begins anew
            ):  # fmt: skip
                self.mend(cursor, p, at, end, commit_offset, size, queue_offset, store_timestamp)
            elif cursor.held:
                self.wait(cursor, commit_offset, size, store_timestamp)
            else:
                try:
                    self.enter(cursor, p, at, end, commit_offset, size, queue_offset, store_timestamp)
                except QueueUnwritable as error:
                    self.hold(cursor, commit_offset, size, store_timestamp, error)
        if self.index is not None and is_indexed(sys_flag):
            self.dispatch_keys(cursor, p, commit_offset, store_timestamp)
        BAD_PAGES.check_write()

    def enter(
        self, cursor: QueueCursor, p: Pointer, at: int, end: int, commit_offset: int, size: int, queue_offset: int,
        store_timestamp: int,
    ) -> None:  # fmt: skip
        """Write the record's entry, when it is the queue's next."""
        if self.belongs(cursor, queue_offset, commit_offset + size):
            tags_code = self.tags_code(cursor, p, store_timestamp)
            in_entry = self.in_entry(cursor, p, at, end, queue_offset, tags_code, store_timestamp)
            cursor.put(commit_offset, size, in_entry)
            cursor.store_timestamp = store_timestamp
            if cursor.watched and self.on_dispatch is not None:
                self.on_dispatch(
                    cursor.topic, cursor.queue_id, cursor.max_offset, tags_code, store_timestamp, cut(p, at, end)
                )

    def hold(
        self, cursor: QueueCursor, commit_offset: int, size: int, store_timestamp: int, error: QueueUnwritable
    ) -> None:
        """From this record on the queue's entries wait: they are written in their order, or not at all."""
        cursor.held = True
        self.held[cursor] = [(commit_offset, size, store_timestamp)]
        if self.on_hold is not None:
            self.on_hold(cursor, error)

    def wait(self, cursor: QueueCursor, commit_offset: int, size: int, store_timestamp: int) -> None:
        """A master refuses what comes for the queue; a slave cannot."""
        waiting = self.held[cursor]
        if len(waiting) >= MAX_HELD:
            raise StoreError(f"{len(waiting)} messages wait for queue {cursor.queue_id} of {cursor.topic}")
        waiting.append((commit_offset, size, store_timestamp))

    def release(self, cursor: QueueCursor) -> list[tuple[int, int, int]]:
        """The queue takes entries again, first those that waited: the caller has them dispatched."""
        cursor.held = False
        return self.held.pop(cursor)

    def mend(
        self, cursor: QueueCursor, p: Pointer, at: int, end: int, commit_offset: int, size: int, queue_offset: int,
        store_timestamp: int,
    ) -> None:  # fmt: skip
        """The queue has an entry for the record: make it the right one, where it may be torn."""
        if self.extend is not None or is_tearable(queue_offset, self.mending):
            tags_code = self.tags_code(cursor, p, store_timestamp)
            in_entry = self.in_entry(cursor, p, at, end, queue_offset, tags_code, store_timestamp)
            cursor.owner.mend(queue_offset, commit_offset, size, in_entry)

    def in_entry(
        self, cursor: QueueCursor, p: Pointer, at: int, end: int, queue_offset: int, tags_code: int,
        store_timestamp: int,
    ) -> int:  # fmt: skip
        """What stands in the queue entry: the code, or the address of the extension's unit that has it."""
        if self.extend is None:
            return tags_code
        return self.extend(cursor, queue_offset, tags_code, store_timestamp, cut(p, at, end))

    def belongs(self, cursor: QueueCursor, queue_offset: int, record_end: int) -> bool:
        """Whether the record is the next of its queue and not one it has already."""
        if record_end <= cursor.max_commit_offset:
            return False
        return queue_offset == cursor.max_offset or bool(cursor.owner.align(queue_offset))

    def tags_code(self, cursor: QueueCursor, p: Pointer, store_timestamp: int) -> int:
        found = self._found
        if cursor.is_schedule and found.delay_at >= 0:
            level = cut(p, found.delay_at, found.delay_end).decode("utf-8", "replace")  # no checksum covers it
            wait = delay_ms(level, self.delay_level_ms)
            if wait >= 0:
                return store_timestamp + wait
        if found.tags_at < 0:
            return 0
        return as_int32(hash_octets(0, p, found.tags_at, found.tags_end))

    def dispatch_keys(self, cursor: QueueCursor, p: Pointer, commit_offset: int, store_timestamp: int) -> None:
        index: Any = self.index  # for mypy: it is there. Compiled, this is an IndexCursor, called as C
        index.ready()  # a file begins with a message, even with one that has no key
        if commit_offset >= index.end_offset:
            self.put_keys(index, cursor, p, commit_offset, store_timestamp)

    def put_keys(
        self, index: IndexCursor, cursor: QueueCursor, p: Pointer, commit_offset: int, store_timestamp: int
    ) -> None:
        found = self._found
        if found.unique_at >= 0:
            self.put_key(index, cursor, p, found.unique_at, found.unique_end, commit_offset, store_timestamp)
        at = found.keys_at
        while found.next_key(p, at):
            self.put_key(index, cursor, p, found.key_at, found.key_end, commit_offset, store_timestamp)
            at = found.key_end + 1

    def put_key(
        self, index: IndexCursor, cursor: QueueCursor, p: Pointer, at: int, end: int, commit_offset: int,
        store_timestamp: int,
    ) -> None:  # fmt: skip
        key_hash = as_int32(hash_octets(cursor.key_hash, p, at, end))
        index.put(positive(key_hash), commit_offset, store_timestamp)
