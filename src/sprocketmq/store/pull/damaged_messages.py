"""What pulls pass over because bytes of the log or of a queue are damaged: said once for each place, and counted."""

from __future__ import annotations

import logging
from collections.abc import Callable

from sprocketmq.store.log.commitlog import CommitLog
from sprocketmq.store.queue.format import QueueEntry

_log = logging.getLogger("sprocketmq.store.pull.damaged_messages")

#: Consumers come by again and again: so many places are remembered, then forgotten all at once.
_REMEMBERED = 1024


class DamagedMessages:
    """`count` is how many pulls have passed over, each time anew.

    `is_being_mended` is asked for each place that a pull of a topic's queue has met: where it is, nothing is passed
    over.
    """

    def __init__(self, log: CommitLog) -> None:
        self.count = 0
        self.is_being_mended: Callable[[str, int, int], bool] = lambda _topic, _queue_id, _commit_offset: False
        self._log = log
        self._told: set[int] = set()

    def is_awaited(self, topic: str, queue_id: int, entry: QueueEntry) -> bool:
        """Whether the record of an entry, which is not to be read, is being mended."""
        return not entry.is_filler and self.is_being_mended(topic, queue_id, entry.commit_offset)

    def note(self, topic: str, queue_id: int, missing: list[tuple[int, int]]) -> int | None:
        """What a pull has passed over; before which queue offset it has to stop instead, None for nowhere."""
        for commit_offset, queue_offset in missing:
            if self.is_being_mended(topic, queue_id, commit_offset):
                return queue_offset
        self._tell(topic, queue_id, missing[0][0], len(missing))
        return None

    def _tell(self, topic: str, queue_id: int, commit_offset: int, count: int) -> None:
        if 0 <= commit_offset < self._log.min_offset:
            return  # its file has gone by its age, which the queue is about to learn
        self.count += count
        if commit_offset in self._told:
            return
        if len(self._told) >= _REMEMBERED:
            self._told.clear()
        self._told.add(commit_offset)
        base = self._log.base_of(commit_offset)
        if base is None:
            place = f"offset {commit_offset}, where the log has no file"
        else:
            place = f"{self._log.path_of(base)} at {commit_offset - base}"
        _log.error("%s: no whole message of topic %s, queue %d; a pull passes over %d", place, topic, queue_id, count)
