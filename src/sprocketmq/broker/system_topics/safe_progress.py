"""Progress that may be saved only when the log is safe that far.

A message that was moved on (delivered, checked again, written as a mark) is a new record. Were the progress on disk
before that record, a power cut would lose the message: the old one counts as done, the new one is not there. So would
a new master's log, which may not have that record: who is the master no more has nothing to save.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from sprocketmq.store.store import MessageStore

P = TypeVar("P")

_LOOK_SECONDS = 0.1


class SafeProgress(Generic[P]):
    """`take` is the progress now; `save` gets one of an earlier moment, when the log of that moment is flushed."""

    def __init__(self, store: MessageStore, take: Callable[[], P], save: Callable[[P], object]) -> None:
        self._store = store
        self._take = take
        self._save = save
        self._saved: P | None = None
        self._waiting: tuple[int, P] | None = None

    def begin(self) -> None:
        """Save the progress of this moment as soon as that is safe."""
        progress = self._take()
        if self._waiting is not None or progress == self._saved:
            return
        self._waiting = (self._store.log.max_offset, progress)
        self._store.flusher.flush_soon()
        self._look()

    def save_now(self) -> None:
        """For a stop: flush here and save."""
        self._waiting = None
        self._store.flusher.flush()
        if self._store.failure is None:
            self._write(self._take())

    def drop(self) -> None:
        """Another broker is the master: what waits for the log here may be cut from it, and the new one says more."""
        self._waiting = self._saved = None

    def forget(self) -> None:
        """What was given to `save` could not be saved: it is given once more. From any thread."""
        self._saved = None

    def _look(self) -> None:
        if self._waiting is None or self._store.failure is not None:
            return
        end, progress = self._waiting
        if self._store.flushed_offset < end:
            asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._look)
            return
        self._waiting = None
        self._write(progress)

    def _write(self, progress: P) -> None:
        if progress != self._saved:
            self._saved = progress
            self._save(progress)
