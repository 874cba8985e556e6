"""A slave's place in the master's log.

Slices are views of the mapped files: nothing of the log is copied or kept for a slave, however far behind it is.
"""

from __future__ import annotations

from sprocketmq.store.replica import Replica
from sprocketmq.store.store import MessageStore


class LogCursor:
    def __init__(self, store: MessageStore, replica: Replica, offset: int) -> None:
        self.offset = offset
        self._store = store
        self._replica = replica

    @property
    def behind(self) -> int:
        return self._store.readable.written_offset - self.offset

    def take(self, limit: int) -> memoryview | None:
        """The next bytes, at most `limit` and of one file; None when there are none (any more) at this offset."""
        body = self._replica.slice_at(self.offset, limit)
        if body is not None:
            self.offset += len(body)
        return body


def first_offset(store: MessageStore) -> int:
    """Where a slave begins that has nothing: with the last file, as RocketMQ's slaves do."""
    end = store.readable.written_offset
    return end - end % store.log.file_size


def out_of_range(store: MessageStore, offset: int) -> str | None:
    """Why the log cannot be given from `offset` on; None when it can."""
    if offset > store.readable.written_offset:
        return "the slave has more than this log: they have diverged"
    if offset < store.log.min_offset:
        return "the slave is behind the oldest file of this log"
    return None
