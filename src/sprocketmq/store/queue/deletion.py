"""Topics that are being deleted, step by step: the file that says so is on disk before their queues go.

write    the file, from any thread
finish   their queues, on the owner's thread; nothing, and False, when messages came meanwhile: then begin anew,
         unless the deletion lies in the past, as that of a master does for its slave
sync     that the queues are gone, from any thread
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sprocketmq.store.files.deleted_topics import DeletedTopics, Deletion
from sprocketmq.store.files.files import Files
from sprocketmq.store.queue.ext import ExtTable
from sprocketmq.store.queue.table import QueueTable


class TopicDeletion:
    def __init__(
        self, topics: Sequence[str], deleted: DeletedTopics, queues: QueueTable, exts: ExtTable | None, files: Files,
        folder: Path, deletion: Deletion, log_begin: int, *, is_past: bool = False,
    ) -> None:  # fmt: skip
        self._topics = topics
        self._deleted = deleted
        self._queues = queues
        self._exts = exts
        self._files = files
        self._folder = folder
        self._table = deleted.with_deletion(topics, deletion, log_begin)
        self._ends = None if is_past else self._queue_ends()

    def write(self) -> None:
        self._deleted.write(self._table)

    def finish(self) -> bool:
        if (
            self._ends is not None and self._queue_ends() != self._ends
        ):  # what came lies behind the place that the file tells
            return False
        self._deleted.set(self._table)
        for topic in self._topics:
            self._queues.forget(topic)
            if self._exts is not None:
                self._exts.forget(topic)
        return True

    def sync(self) -> None:
        if self._files.exists(self._folder):
            self._files.sync_dir(self._folder)

    def _queue_ends(self) -> list[tuple[str, int, int]]:
        return [
            (topic, queue_id, queue.cursor.next_offset)
            for topic in self._topics
            for queue_id, queue in self._queues.of_topic(topic).items()
        ]
