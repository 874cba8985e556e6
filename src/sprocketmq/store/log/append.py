# cython: annotation_typing=False
"""Appending to the CommitLog: the record's bytes are written once, straight into the mapped file.

A record never spans files, and a batch does not either. Where records are readable as soon as they are written, each
is dispatched before `put` returns; else the store dispatches when they are safe. Whoever calls `put` owns the store:
there is no lock.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Protocol

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.errors import FlushFailed, MessageIllegal, QueueUnwritable, StoreError
from sprocketmq.store.dispatch.dispatch import Dispatcher
from sprocketmq.store.files.bad_pages import BAD_PAGES
from sprocketmq.store.log.batch import BatchRun
from sprocketmq.store.log.put_latency import PutTimes
from sprocketmq.store.queue.cursor import QueueCursor

if not cython.compiled:
    from sprocketmq.hot.memory import pointer, ticks_ns
    from sprocketmq.hot.octets import Octets, blank, i32, le32, put_i64, put_le32, seal
    from sprocketmq.protocol.record.record import (
        BLANK_BYTES,
        MAX_PROPERTIES_BYTES,
        closed,
        reserve_property_crc,
        store_size,
        write_at,
    )  # fmt: skip
    from sprocketmq.protocol.record.sysflag import BORN_HOST_V6, STORE_HOST_V6, is_queued
    from sprocketmq.store.log.batch import put_heads
    from sprocketmq.store.queue.format import ENTRY_SIZE


class PutStatus(IntEnum):
    PUT_OK = 0
    FLUSH_DISK_TIMEOUT = 1
    FLUSH_SLAVE_TIMEOUT = 2
    SLAVE_NOT_AVAILABLE = 3
    SERVICE_NOT_AVAILABLE = 4
    CREATE_MAPPED_FILE_FAILED = 5
    MESSAGE_ILLEGAL = 6
    PROPERTIES_SIZE_EXCEEDED = 7
    UNKNOWN_ERROR = 8


if not cython.compiled:
    BODY_AT = 88  # in a record whose hosts have IPv4 addresses, of 8 bytes each
    SERVICE_NOT_AVAILABLE, CREATE_MAPPED_FILE_FAILED, MESSAGE_ILLEGAL, PROPERTIES_SIZE_EXCEEDED = 4, 5, 6, 7


class PutResult:
    """What became of a message or a batch. `queue_offset` is the first one's; `end_offset` is behind the last byte.

    `offsets` holds the commit offsets of a batch's messages, eight bytes each, and is None for a single one.
    """

    __slots__ = ("commit_offset", "count", "offsets", "queue_offset", "size", "status", "store_timestamp")

    def __init__(
        self, status: int, commit_offset: int = -1, size: int = 0, queue_offset: int = -1, store_timestamp: int = 0,
        count: int = 0,
    ) -> None:  # fmt: skip
        self.status = status
        self.commit_offset = commit_offset
        self.size = size
        self.queue_offset = queue_offset
        self.store_timestamp = store_timestamp
        self.count = count
        self.offsets: bytes | None = None

    @property
    def ok(self) -> bool:
        return self.status == 0

    @property
    def end_offset(self) -> int:
        return self.commit_offset + self.size

    def __repr__(self) -> str:
        return (
            f"PutResult({PutStatus(self.status).name}, commit_offset={self.commit_offset}, size={self.size}, "
            f"queue_offset={self.queue_offset}, count={self.count})"
        )


class LogOwner(Protocol):
    def make_room(self, size: int) -> None:
        """Allocate more of the last file, or close it with a blank and begin the next. Raises StoreFull."""
        ...

    def dispatch_failed(self, error: Exception) -> None:
        """A record is in the log but could not be dispatched, for want of space say."""
        ...

    def fail(self, failure: FlushFailed) -> None:
        """What was written is not there. Sets the appender's `status`."""
        ...


class Appender:
    """`status` is what every put is refused with; PUT_OK while the store takes messages."""

    def __init__(
        self, owner: LogOwner, dispatcher: Dispatcher, now_ms: Callable[[], int], store_host: bytes, file_size: int,
        max_message_size: int, max_topic_length: int, property_crc: bool, inline: bool,
    ) -> None:  # fmt: skip
        self.owner = owner
        self.dispatcher = dispatcher
        self.now_ms = now_ms
        self.store_host = store_host
        self.max_message_size = max_message_size
        self.max_run_size = file_size - BLANK_BYTES
        self.max_topic_length = max_topic_length
        self.property_crc = property_crc
        self.inline = inline
        self.on_append: Callable[[], object] | None = None
        self.status = 0
        self.put_times = 0
        self.failed_times = 0
        self.times = PutTimes()
        self.store_timestamp = 0
        self._began = 0
        self.place(None, 0, 0, 0)

    def place(self, view: memoryview | None, base: int, position: int, limit: int) -> None:
        """Append at `position` of the file that begins at `base`; the bytes below `limit` have blocks."""
        self._view = view
        self._p = pointer(view)  # compiled a bare address: only `_view` keeps the map from going while it is used
        self.base = base
        self.position = position
        self.limit = limit
        self.wrote_offset = base + position

    def hold(self) -> None:
        """Ask the owner before the next append, whatever room there is."""
        self.limit = 0

    def put(
        self, topic: str, queue_id: int, flag: int, sys_flag: int, body: bytes, properties: bytes,
        born_timestamp: int, born_host: bytes, reconsume_times: int, prepared_offset: int,
    ) -> PutResult:  # fmt: skip
        """Append one message. The sys_flag's address bits are set from the hosts."""
        self._began = ticks_ns()
        try:
            cursor = self.dispatcher.queue(topic, queue_id)
            properties = reserve_property_crc(properties) if self.property_crc else closed(properties)
            sys_flag = self.with_hosts(sys_flag, born_host)
            size = store_size(len(body), len(cursor.topic_bytes), len(properties), sys_flag)
            status = self.check(cursor, len(body), len(properties), size)
            if status != 0:
                return self.refused(status)
            self.make_room(cursor, size)
        except StoreError as error:
            return self.refused(refusal(error))
        result = self.begin(cursor, size)
        self.append(
            cursor, size, flag, sys_flag, body, properties, born_timestamp, born_host, reconsume_times, prepared_offset
        )
        return self.done(result, 1)

    def put_batch(
        self, topic: str, queue_id: int, sys_flag: int, batch: bytes, properties: bytes, born_timestamp: int,
        born_host: bytes, reconsume_times: int,
    ) -> PutResult:  # fmt: skip
        """Append every message of a batch body; each gets its own properties followed by `properties`."""
        self._began = ticks_ns()
        try:
            cursor = self.dispatcher.queue(topic, queue_id)
            sys_flag = self.with_hosts(sys_flag, born_host)
            run = BatchRun(batch, properties, self.property_crc)
            size = run.size(store_size(0, len(cursor.topic_bytes), 0, sys_flag))
            status = self.check(cursor, len(batch), 0, size)
            if status != 0:
                return self.refused(status)
            self.make_room(cursor, size)
        except StoreError as error:
            return self.refused(refusal(error))
        result = self.begin(cursor, size)
        result.offsets = self.append_run(cursor, sys_flag, run, born_timestamp, born_host, reconsume_times)
        return self.done(result, run.count)

    def with_hosts(self, sys_flag: int, born_host: bytes) -> int:
        sys_flag &= ~(BORN_HOST_V6 | STORE_HOST_V6)
        if len(born_host) == 20:
            sys_flag |= BORN_HOST_V6
        if len(self.store_host) == 20:
            sys_flag |= STORE_HOST_V6
        return sys_flag

    def check(self, cursor: QueueCursor, body_length: int, properties_length: int, size: int) -> int:
        if self.status != 0:
            return self.status
        if cursor.held:
            return CREATE_MAPPED_FILE_FAILED
        if properties_length > MAX_PROPERTIES_BYTES:
            return PROPERTIES_SIZE_EXCEEDED
        if len(cursor.topic_bytes) > self.max_topic_length and not cursor.is_retry:
            return MESSAGE_ILLEGAL
        if body_length > self.max_message_size or size > self.max_run_size:
            return MESSAGE_ILLEGAL
        return 0

    def make_room(self, cursor: QueueCursor, size: int) -> None:
        """Room for the record and its queue entry: a full disk, or a queue whose file cannot be made, shows before
        anything is written.
        """
        if self.position + size + BLANK_BYTES > self.limit:
            self.owner.make_room(size)
            if self.position + size + BLANK_BYTES > self.limit:
                raise StoreError(f"no room for {size} bytes at {self.wrote_offset}")  # never write past the map
        if cursor.position + ENTRY_SIZE > cursor.limit:
            cursor.owner.make_room()

    def begin(self, cursor: QueueCursor, size: int) -> PutResult:
        now = self.now_ms()
        if now > self.store_timestamp:
            self.store_timestamp = now  # it never goes back: queues are searched by it
        result = PutResult.__new__(PutResult)  # for every message: compiled, assignments cost less than a constructor
        result.status = 0
        result.commit_offset = self.wrote_offset
        result.size = size
        result.queue_offset = cursor.next_offset
        result.store_timestamp = self.store_timestamp
        result.offsets = None
        return result

    def append(
        self, cursor: QueueCursor, size: int, flag: int, sys_flag: int, body: bytes, properties: bytes,
        born_timestamp: int, born_host: bytes, reconsume_times: int, prepared_offset: int,
    ) -> None:  # fmt: skip
        queue_offset = cursor.next_offset if is_queued(sys_flag) else 0
        write_at(
            self._p, self.position, size, cursor.topic_bytes, body, properties, cursor.queue_id, flag, queue_offset,
            self.wrote_offset, sys_flag, born_timestamp, born_host, self.store_timestamp, self.store_host,
            reconsume_times, prepared_offset, self.property_crc,
        )  # fmt: skip
        self.see_written()
        self.appended(cursor, size, len(properties), len(properties), sys_flag, queue_offset)

    def appended(
        self, cursor: QueueCursor, size: int, properties_length: int, own_length: int, sys_flag: int, queue_offset: int
    ) -> None:
        """A record is written at `position`: count it, and dispatch it where that is not done later.

        Of its properties the first `own_length` bytes are its own, the rest is shared by all of its batch.
        """
        at, commit_offset = self.position, self.wrote_offset
        if is_queued(sys_flag):
            cursor.next_offset += 1
        self.position = at + size
        # The flush thread syncs up to here. It needs the GIL to look, so it never sees the offset of half a record.
        self.wrote_offset = commit_offset + size
        if self.inline:
            self.dispatch(
                cursor, at + size - properties_length, own_length, commit_offset, size, sys_flag, queue_offset
            )

    def dispatch(
        self, cursor: QueueCursor, properties_at: int, own_length: int, commit_offset: int, size: int, sys_flag: int,
        queue_offset: int,
    ) -> None:  # fmt: skip
        try:
            self.dispatcher.dispatch(
                cursor, self._p, properties_at, properties_at + own_length, self.position, commit_offset, size,
                sys_flag, queue_offset, self.store_timestamp,
            )  # fmt: skip
            self.dispatcher.dispatched_offset = self.wrote_offset
        except FlushFailed as error:
            self.owner.fail(error)
        except StoreError as error:
            self.owner.dispatch_failed(error)

    def see_written(self) -> None:
        """Nothing is dispatched, and nobody answered, on top of bytes that went nowhere."""
        if BAD_PAGES.count > 0:
            try:
                BAD_PAGES.check_write()
            except FlushFailed as error:
                self.owner.fail(error)

    def append_run(
        self, cursor: QueueCursor, sys_flag: int, run: BatchRun, born_timestamp: int, born_host: bytes,
        reconsume_times: int,
    ) -> bytes:  # fmt: skip
        """Write all records of a batch, then let them be found, and only then dispatch them."""
        prototype = self.prototype(cursor, sys_flag, born_timestamp, born_host, reconsume_times)
        count = run.count
        offsets, lengths = blank(8 * count), blank(8 * count)
        p, q = offsets, lengths
        self.write_run(cursor, sys_flag, run, prototype, len(born_host), p, q)
        self.see_written()
        self.dispatcher.share(run.shared)
        for number in range(count):
            queue_offset = cursor.next_offset if is_queued(sys_flag) else 0
            size, own_length = le32(q, 8 * number), le32(q, 8 * number + 4)
            self.appended(cursor, size, own_length + run.tail, own_length, sys_flag, queue_offset)
        return seal(offsets)

    def write_run(
        self, cursor: QueueCursor, sys_flag: int, run: BatchRun, prototype: bytes, born_host_length: int, p: Octets,
        q: Octets,
    ) -> None:  # fmt: skip
        """Notes at `p` where each record is, and at `q` its size and the length of its own properties."""
        bare, middle = len(prototype), BODY_AT - 16 + born_host_length + len(self.store_host)
        at, queue_offset, step = self.position, 0, 0
        if is_queued(sys_flag):
            queue_offset, step = cursor.next_offset, 1
        run.rewind()
        while run.step():
            put_i64(p, 8 * (run.count - 1), self.base + at)
            size = bare + run.body_length + run.properties_length
            put_le32(q, 8 * run.count - 8, size)
            put_le32(q, 8 * run.count - 4, run.own_length)
            run.write(self._p, at, size, prototype, middle, queue_offset, self.base + at)
            at += size
            queue_offset += step
        put_heads(self._p, self.base, p, run.count, self.base + at, i32(prototype, 4))

    def prototype(
        self, cursor: QueueCursor, sys_flag: int, born_timestamp: int, born_host: bytes, reconsume_times: int
    ) -> bytes:
        size = store_size(0, len(cursor.topic_bytes), 0, sys_flag)
        out = blank(size)
        write_at(
            out, 0, size, cursor.topic_bytes, b"", b"", cursor.queue_id, 0, 0, 0, sys_flag, born_timestamp, born_host,
            self.store_timestamp, self.store_host, reconsume_times, 0, False,
        )  # fmt: skip
        return seal(out)

    def done(self, result: PutResult, count: int) -> PutResult:
        if self.status != 0:
            return self.refused(self.status)
        result.count = count
        self.put_times += count
        self.times.note(ticks_ns() - self._began)
        if self.on_append is not None:
            self.on_append()
        return result

    def refused(self, status: int) -> PutResult:
        self.failed_times += 1
        return PutResult(status)


def refusal(error: StoreError) -> int:
    if isinstance(error, QueueUnwritable):
        return CREATE_MAPPED_FILE_FAILED
    return MESSAGE_ILLEGAL if isinstance(error, MessageIllegal) else SERVICE_NOT_AVAILABLE
