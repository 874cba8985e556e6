"""All ConsumeQueues of a store, found on disk at start and begun with their first message."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sprocketmq.store.files.deleted_topics import Deletions
from sprocketmq.store.files.files import Files
from sprocketmq.store.files.layout import Layout, is_topic_name, queue_id_of, topic_name
from sprocketmq.store.files.map_cache import MapCache
from sprocketmq.store.files.pages import PAGE
from sprocketmq.store.queue.consumequeue import ConsumeQueue
from sprocketmq.store.queue.cursor import QueueCursor

FEW = 32  # up to so many queues are synced one by one; for more one sync of the file system is quicker


class QueueTable:
    """Opens queues, keeps them by (topic, queue id), and knows which of them have entries to flush."""

    def __init__(self, files: Files, maps: MapCache, layout: Layout, file_size: int, deleted: Deletions) -> None:
        self.files = files
        self.maps = maps
        self.file_size = file_size
        self.complete = True
        self._layout = layout
        self._deleted = deleted
        self._queues: dict[str, dict[int, ConsumeQueue]] = {}
        self._dirty: list[ConsumeQueue] = []
        #: The same queues as the dispatcher knows them: by their write ends.
        self.cursors: dict[str, dict[int, QueueCursor]] = {}

    def folder_of(self, topic: str, queue_id: int) -> Path:
        return self._layout.consume_queue(topic, queue_id)

    def touched(self, queue: ConsumeQueue) -> None:
        self._dirty.append(queue)

    def load(self) -> None:
        """Find every queue on disk; names that no topic may have are left alone."""
        root = self._layout.consume_queues
        for topic in filter(is_topic_name, self.files.list_dir(root)):
            for name in self.files.list_dir(root / topic):
                queue_id = queue_id_of(name)
                if queue_id is not None:
                    self.add(topic, queue_id).load()

    def add(self, topic: str, queue_id: int) -> ConsumeQueue:
        queue = ConsumeQueue(self, topic, queue_id)
        self._look_for_deletion(queue)  # first: one that is in a table is ready
        self._queues.setdefault(topic, {})[queue_id] = queue
        self.cursors.setdefault(topic, {})[queue_id] = queue.cursor
        return queue

    def _look_for_deletion(self, queue: ConsumeQueue) -> None:
        cursor, deletion = queue.cursor, self._deleted.get(queue.topic)
        cursor.deleted_below, cursor.deleted_until = (0, 0) if deletion is None else deletion

    def deletions_changed(self) -> None:
        """Deletions are told by what recovery found of the log."""
        for queue in self:
            self._look_for_deletion(queue)

    def open_cursor(self, topic: str, queue_id: int) -> QueueCursor:
        """Called by the dispatcher for a queue it does not know."""
        queue = self.find(topic, queue_id)
        if queue is None:
            return self.add(topic_name(topic), queue_id).cursor
        self.cursors.setdefault(queue.topic, {})[queue_id] = queue.cursor  # its beginning was cut short
        return queue.cursor

    def find(self, topic: str, queue_id: int) -> ConsumeQueue | None:
        return self._queues.get(topic, {}).get(queue_id)

    def topics(self) -> list[str]:
        return list(self._queues)

    def of_topic(self, topic: str) -> dict[int, ConsumeQueue]:
        return self._queues.get(topic, {})

    def __iter__(self) -> Iterator[ConsumeQueue]:
        for queues in list(self._queues.values()):
            yield from list(queues.values())

    def forget(self, topic: str) -> None:
        """Delete a topic's queues and their files."""
        for queue in self._queues.pop(topic, {}).values():
            queue.destroy()
        self.cursors.pop(topic, None)
        self.files.remove_tree(self._layout.consume_queues / topic_name(topic))

    def forget_queue(self, queue: ConsumeQueue) -> None:
        """Delete one queue and its files."""
        self._queues[queue.topic].pop(queue.queue_id)
        self.cursors[queue.topic].pop(queue.queue_id)
        queue.destroy()

    def flush(self, least_pages: int) -> None:
        """Sync the queues that have at least so many pages of new entries; called on the flush thread.

        The owner's thread goes on writing meanwhile, and there is no lock. This rests on the GIL, or on the lock that
        each list has in a Python without it: `append`, `copy` and `del` of a slice are each done as a whole. So the
        owner always appends to this one list, and what is taken off it are the queues that were copied. A queue that
        grows while it is looked at must land on one side: it is listed once, and would never be listed again.
        """
        dirty = self._dirty.copy()
        del self._dirty[: len(dirty)]
        due: list[ConsumeQueue] = []
        for queue in dirty:
            (due if queue.unflushed_bytes >= least_pages * PAGE else self._dirty).append(queue)
        if len(due) <= FEW:
            self._sync_each(due)
            return
        upto = [queue.begin_sync() for queue in due]
        try:
            self.files.sync_all(self._layout.root)
        except OSError:
            self._dirty.extend(due)
            raise
        for queue, offset in zip(due, upto, strict=True):
            queue.end_sync(offset)

    def _sync_each(self, due: list[ConsumeQueue]) -> None:
        for number, queue in enumerate(due):
            try:
                queue.sync()
            except OSError:
                self._dirty.extend(due[number:])  # they are as unsafe as before
                raise
