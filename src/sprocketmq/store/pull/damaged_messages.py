"""What pulls pass over because bytes of the log or of a queue are damaged: said once for each place, and counted."""

from __future__ import annotations

import logging

from sprocketmq.store.log.commitlog import CommitLog

_log = logging.getLogger("sprocketmq.store.pull.damaged_messages")

#: Consumers come by again and again: so many places are remembered, then forgotten all at once.
_REMEMBERED = 1024


class DamagedMessages:
    """`count` is how many pulls have passed over, each time anew."""

    def __init__(self, log: CommitLog) -> None:
        self.count = 0
        self._log = log
        self._told: set[int] = set()

    def note(self, topic: str, queue_id: int, commit_offset: int, count: int) -> None:
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
