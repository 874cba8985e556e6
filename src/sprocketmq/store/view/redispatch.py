"""The log dispatched again into the queues of a view, as recovery does it, but in memory.

The broker's own dispatcher walks the records; what it would write to a queue's file gathers in a room of the queue's,
and joins the view when the walk stops. No Python object is made for a record.
"""

from __future__ import annotations

from collections.abc import Callable

from sprocketmq.protocol.record.record import BLANK
from sprocketmq.store.dispatch.dispatch import Dispatcher
from sprocketmq.store.files.deleted_topics import Deletions
from sprocketmq.store.queue.cursor import QueueCursor
from sprocketmq.store.queue.format import ENTRY_SIZE, QueueEntry
from sprocketmq.store.view.log import LogFile, LogView
from sprocketmq.store.view.queue import QueueView

_FIRST_ROOM = 64 * ENTRY_SIZE

FindQueue = Callable[[str, int], QueueView | None]
MakeQueue = Callable[[str, int], QueueView]


class Redispatch:
    """`end` is where the last record ends that was dispatched, and `newest` its store time."""

    def __init__(
        self, log: LogView, find: FindQueue, make: MakeQueue, deleted: Deletions, delays: tuple[int, ...],
        queue_file_size: int,
    ) -> None:  # fmt: skip
        self.end = self.newest = 0
        self._log, self._find, self._make = log, find, make
        self._deleted = deleted
        self._touched: list[RebuiltQueue] = []
        self._dispatcher = Dispatcher({}, self._open, None, delays)
        self._dispatcher.mending = queue_file_size

    def run(self, at: int) -> int:
        """Dispatches the whole records from `at` on, file by file; returns the first place that has none."""
        while (file := self._log.file_at(at)) is not None:
            begin, at = at, self._walk(file, at)
            if at == begin:
                break
        for room in self._touched:
            room.settle()
        self._touched.clear()
        return at

    def room(self, topic: str, queue_id: int) -> RebuiltQueue:
        owner = self._dispatcher.queue(topic, queue_id).owner
        assert isinstance(owner, RebuiltQueue)
        return owner

    def _walk(self, file: LogFile, at: int) -> int:
        """Over as much of the file as is read at once; returns the file's end from its blank record on."""
        dispatcher, data = self._dispatcher, self._log.read(at, min(file.end - at, self._log.source.window))
        dispatcher.dispatched_offset = at
        kind = dispatcher.walk(data, at, 0, len(data), True)
        if dispatcher.dispatched_offset > at:
            self.end, self.newest = dispatcher.dispatched_offset, dispatcher.store_timestamp
        return file.end if kind == BLANK else dispatcher.dispatched_offset

    def _open(self, topic: str, queue_id: int) -> QueueCursor:
        make = self._make
        room = RebuiltQueue(
            topic, queue_id, self._find(topic, queue_id), lambda: make(topic, queue_id), self._touched.append
        )
        if topic in self._deleted:
            room.cursor.deleted_below, room.cursor.deleted_until = self._deleted[topic]
        self._dispatcher.queues.setdefault(topic, {})[queue_id] = room.cursor
        return room.cursor


class RebuiltQueue:
    """The write end of one queue. A queue that is not there is made with its first entry."""

    def __init__(
        self, topic: str, queue_id: int, queue: QueueView | None, make: Callable[[], QueueView],
        on_touched: Callable[[RebuiltQueue], None],
    ) -> None:  # fmt: skip
        self.min_offset, self.bases = 0, list[int]()
        self.cursor = QueueCursor(topic, queue_id, self)
        self._queue, self._make, self._on_touched = queue, make, on_touched
        self._room = memoryview(bytearray())
        self._resume()

    def add(self, queue_offset: int, entry: QueueEntry) -> None:
        """An entry that does not come by the dispatcher."""
        self._made().add(queue_offset, entry)
        self._resume()

    def settle(self) -> None:
        """What has gathered joins the view of the queue."""
        self._made().extend(self._room[: self.cursor.position])
        self._resume()

    # -- what the cursor asks of its owner

    def make_room(self) -> None:
        used = self._room[: self.cursor.position]
        self._room = memoryview(bytearray(max(_FIRST_ROOM, 2 * len(used))))
        self._room[: len(used)] = used
        self.cursor.place(self._room, len(used), len(self._room))

    def align(self, queue_offset: int) -> bool:
        self.settle()
        if queue_offset < self.cursor.max_offset:
            begins = self._made().begin_anew(queue_offset)
        else:
            self._made().skip_to(queue_offset)
            begins = True
        self._resume()
        return begins

    def mend(self, queue_offset: int, commit_offset: int, size: int, tags_code: int) -> None:
        if self._queue is not None:
            self._queue.mend(queue_offset, QueueEntry(commit_offset, size, tags_code))

    def touched(self) -> None:
        self._on_touched(self)

    def view_of(self, _base: int) -> memoryview:
        """Nothing is mapped."""
        return memoryview(b"")

    def _made(self) -> QueueView:
        if self._queue is None:
            self._queue = self._make()
        return self._queue

    def _resume(self) -> None:
        self.cursor.dirty, self._room = False, memoryview(bytearray())
        if self._queue is not None:
            self.cursor.reset(self._queue.max_offset, self._queue.max_physical())
