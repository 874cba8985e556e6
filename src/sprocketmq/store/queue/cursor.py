# cython: annotation_typing=False
"""The write end of one ConsumeQueue.

Records below `deleted_below`, and not younger than `deleted_until`, are of a topic of this name that was deleted.
`next_offset` is the queue offset the next appended message gets, `max_offset` the number of entries that readers may
see; they differ while records wait in the log for their flush, or for a file that cannot be written: then the queue is
`held`. The cursor stores straight into the mapped file that its owner gave it, and asks for room when the allocated
part is full or the map was taken away.

0 <= position <= limit <= file size; limit is 0 when nothing is mapped.
"""

from __future__ import annotations

from typing import Protocol

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.errors import StoreError
from sprocketmq.protocol.names import SCHEDULE_TOPIC
from sprocketmq.protocol.record.hashing import string_hash

if not cython.compiled:
    from sprocketmq.hot.memory import Pointer, pointer
    from sprocketmq.hot.octets import i32, i64, put_i32, put_i64
    from sprocketmq.store.queue.format import ENTRY_SIZE, SECTOR


class QueueOwner(Protocol):
    min_offset: int
    #: Where its files begin.
    bases: list[int]

    def view_of(self, base: int) -> memoryview:
        """The file that begins at `base`."""
        ...

    def make_room(self) -> None:
        """Map the file of the next entry and `place` the cursor in it. Raises StoreFull on a full disk."""
        ...

    def align(self, queue_offset: int) -> bool:
        """A record came that is not the next of its queue: whether its entry is written all the same."""
        ...

    def mend(self, queue_offset: int, commit_offset: int, size: int, tags_code: int) -> None:
        """Make an entry that is there already say this."""
        ...

    def touched(self) -> None:
        """The first entry since the last flush was written."""
        ...


class QueueCursor:
    def __init__(self, topic: str, queue_id: int, owner: QueueOwner) -> None:
        self.topic = topic
        self.topic_bytes = topic.encode()
        self.queue_id = queue_id
        self.owner = owner
        self.key_hash = string_hash(f"{topic}#") & 0xFFFFFFFF
        self.is_retry = topic.startswith(("%RETRY%", "%DLQ%"))
        self.is_schedule = topic == SCHEDULE_TOPIC
        self.next_offset = 0
        self.max_offset = 0
        self.max_commit_offset = -1
        self.store_timestamp = 0
        self.deleted_below = 0
        self.deleted_until = 0
        self.watched = False
        self.dirty = False
        self.used = False
        self.held = False
        self.place(None, 0, 0)

    def place(self, view: memoryview | None, position: int, limit: int) -> None:
        """Store from `position` of `view` on; the bytes below `limit` have blocks on the disk."""
        self._view = view
        self._p = pointer(view)  # compiled a bare address: only `_view` keeps the map from going while it is used
        self.position = position
        self.limit = limit

    def reset(self, max_offset: int, max_commit_offset: int) -> None:
        """Continue at `max_offset`, as recovery found it or cut it."""
        self.next_offset = self.max_offset = max_offset
        self.max_commit_offset = max_commit_offset
        self.place(None, 0, 0)

    def view_of(self, base: int) -> memoryview | None:
        """The file that begins at `base`, when it is the one written to."""
        # Which one that is need not be kept: it begins `position` bytes before the queue's end.
        return self._view if self.max_offset * ENTRY_SIZE - self.position == base else None

    def put(self, commit_offset: int, size: int, tags_code: int) -> None:
        if self.position + ENTRY_SIZE > self.limit:
            self.owner.make_room()
            if self.position + ENTRY_SIZE > self.limit:
                raise StoreError(f"no room for entry {self.max_offset} of {self.topic}")  # never write past the map
        p: Pointer = self._p
        put_i64(p, self.position, commit_offset)
        put_i32(p, self.position + 8, size)
        put_i64(p, self.position + 12, tags_code)
        self.position += ENTRY_SIZE
        self.max_offset += 1  # after the bytes: a reader never finds an offset with nothing under it
        self.max_commit_offset = commit_offset + size
        self.used = True
        if not self.dirty:  # set here, cleared by the thread that flushes: under the GIL one of both comes first
            self.dirty = True
            self.owner.touched()


def written_until(view: memoryview, at: int, end: int) -> int:
    """Where the first entry from `at` on is that nobody has written, looking at every one: after a power cut any
    page may be missing.
    """
    p: Pointer = pointer(view)
    while at < end and i32(p, at + 8) > 0 and i64(p, at) >= 0:
        at += ENTRY_SIZE
    return at


def is_tearable(queue_offset: int, file_size: int) -> bool:
    """Whether the entry lies in two sectors of its file."""
    return queue_offset * ENTRY_SIZE % file_size % SECTOR > SECTOR - ENTRY_SIZE
