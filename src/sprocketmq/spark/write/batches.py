# cython: annotation_typing=False
"""What is gathered for the queues of a topic until it is sent: one batch per queue, and one for any of them."""

from __future__ import annotations

from collections.abc import Sequence

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.protocol.message_queue import MessageQueue

if not cython.compiled:
    from sprocketmq.hot.octets import Octets, cut, resize

_FIRST_BYTES = 4096


class QueueBatch:
    """Entries of a batch send, back to back; `queue` is None when any will do."""

    def __init__(self, topic: str, queue: MessageQueue | None) -> None:
        self.topic, self.queue = topic, queue
        self.size = self.rows = 0
        self._room = bytearray(_FIRST_BYTES)

    def reserve(self, size: int) -> Octets:
        """The batch's bytes, with room for so many behind its entries; good until the next call."""
        if self.size + size > len(self._room):
            resize(self._room, 2 * (self.size + size))  # twice, so that a batch is moved a few times and not per row
        return self._room  # compiled a bare address in it: `resize` may move the bytes, so nobody keeps it

    def take(self) -> bytes:
        """What it holds; it is empty afterwards."""
        size = self.size
        self.size = self.rows = 0
        return cut(self._room, 0, size)


class TopicBatches:
    """The batches of a topic with these queues."""

    def __init__(self, topic: str, queues: Sequence[MessageQueue]) -> None:
        self.any = QueueBatch(topic, None)
        self._of_queues = [QueueBatch(topic, queue) for queue in queues]
        self._by_id = {batch.queue.queue_id: batch for batch in reversed(self._of_queues) if batch.queue}

    def by_id(self, queue_id: int) -> QueueBatch | None:
        """That of the first queue with this id; None when no queue has it."""
        return self._by_id.get(queue_id)

    def by_hash(self, value: int) -> QueueBatch:
        return self._of_queues[abs(value) % len(self._of_queues)]

    def held(self) -> list[QueueBatch]:
        """Those that hold something."""
        return [batch for batch in (self.any, *self._of_queues) if batch.rows]
