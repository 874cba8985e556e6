"""What pulls pass over because its bytes are damaged: said once for each place, and counted."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

_log = logging.getLogger("sprocketmq.store.pull.damaged_messages")

#: Consumers come by again and again: so many places are remembered, then forgotten all at once.
_REMEMBERED = 1024


class DamagedMessages:
    """`count` is how many pulls have passed over, each time anew."""

    def __init__(self, path_of: Callable[[int], Path], file_size: int) -> None:
        self.count = 0
        self._path_of = path_of
        self._file_size = file_size
        self._told: set[int] = set()

    def note(self, topic: str, queue_id: int, commit_offset: int, count: int) -> None:
        self.count += count
        if commit_offset in self._told:
            return
        if len(self._told) >= _REMEMBERED:
            self._told.clear()
        self._told.add(commit_offset)
        at = commit_offset % self._file_size
        _log.error(
            "%s at %d: no whole message of topic %s, queue %d, where its queue has one; a pull passes over %d",
            self._path_of(commit_offset - at), at, topic, queue_id, count,
        )  # fmt: skip
