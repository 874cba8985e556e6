"""Queues whose file cannot be written: its folder is a file, say, or belongs to somebody else.

Such a queue takes no message, and what is in the log for it already waits; others go on. Its file is tried again now
and then, and when it can be written the entries that waited are, in the order of the log. Until then no checkpoint goes
past the first of them and no stop is a clean one, so that a start finds them in the log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from sprocketmq.errors import QueueUnwritable, StoreError
from sprocketmq.store.dispatch.dispatch import Dispatcher
from sprocketmq.store.log.commitlog import CommitLog
from sprocketmq.store.queue.cursor import QueueCursor
from sprocketmq.store.queue.table import QueueTable

_log = logging.getLogger("sprocketmq.store")

#: Dispatches what a log file has from one position to another.
Walk = Callable[[memoryview, int, int, int], int]


class HeldQueues:
    def __init__(self, dispatcher: Dispatcher, queues: QueueTable, log: CommitLog, walk: Walk) -> None:
        self._dispatcher = dispatcher
        self._queues = queues
        self._log = log
        self._walk = walk
        dispatcher.on_hold = self._tell

    def __len__(self) -> int:
        return len(self._dispatcher.held)

    def before(self, timestamp: int) -> int:
        """`timestamp`, or the store time of the first record that waits. From any thread."""
        return min([timestamp, *(waiting[0][2] for waiting in list(self._dispatcher.held.values()))])

    def heal(self) -> None:
        """Try their files again; the owner's thread calls it."""
        for cursor in list(self._dispatcher.held):
            if self._queues.find(cursor.topic, cursor.queue_id) is not cursor.owner:
                self._dispatcher.release(cursor)  # its topic was deleted
            elif _can_write(cursor):
                self._go_on(cursor)

    def _go_on(self, cursor: QueueCursor) -> None:
        """A record that fails once more is held again, and so are all behind it."""
        dispatcher = self._dispatcher
        reached, newest = dispatcher.dispatched_offset, dispatcher.store_timestamp
        waited = dispatcher.release(cursor)
        try:
            for commit_offset, size, _ in waited:
                self._dispatch(commit_offset, size)
        finally:
            dispatcher.dispatched_offset, dispatcher.store_timestamp = reached, newest
            cursor.next_offset = max(cursor.next_offset, cursor.max_offset)  # recovery may have ended while it was held
        if not cursor.held:
            _log.warning("queue %d of %s goes on, %d messages waited", cursor.queue_id, cursor.topic, len(waited))

    def _dispatch(self, commit_offset: int, size: int) -> None:
        base = self._log.base_of(commit_offset)
        view = None if base is None else self._log.view_of(base)
        if base is not None and view is not None:  # else the file of the log has gone meanwhile
            self._walk(view, base, commit_offset - base, commit_offset - base + size)

    def _tell(self, cursor: QueueCursor, error: QueueUnwritable) -> None:
        """`error` names the file."""
        _log.error("queue %d of %s is held, the others go on: %s", cursor.queue_id, cursor.topic, error)


def _can_write(cursor: QueueCursor) -> bool:
    try:
        cursor.owner.make_room()
    except StoreError:
        return False
    return True
