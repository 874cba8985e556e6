"""What has been fetched of one queue and not been asked for yet, as the bytes that came.

    fetch_offset    where the next pull begins
    position        the offset after the last message that was handed out
Seeking moves both, and empties the buffer; what an earlier pull still brings is dropped by its `epoch`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

from sprocketmq.client.cluster.pull_request import PullResult
from sprocketmq.client.received import ReceivedMessage, split_records
from sprocketmq.client.subscription import Subscription
from sprocketmq.protocol.message_queue import MessageQueue


@dataclass(slots=True)
class _Chunk:
    """One pull's records: undecoded bytes, or the messages that are left when some were taken."""

    data: bytes
    next_offset: int
    messages: deque[ReceivedMessage] | None = None


class QueueBuffer:
    def __init__(self, queue: MessageQueue, subscription: Subscription, offset: int) -> None:
        self.queue = queue
        self.subscription = subscription
        self.fetch_offset = self.position = offset
        self.epoch = 0
        self.paused = False
        self.size_bytes = 0
        self.changed = asyncio.Event()
        self.fetching: asyncio.Future[PullResult] | None = None
        self._chunks: deque[_Chunk] = deque()

    @property
    def is_empty(self) -> bool:
        return not self._chunks

    def seek(self, offset: int) -> None:
        self.epoch += 1
        self.fetch_offset = self.position = offset
        self._chunks.clear()
        self.size_bytes = 0
        self.changed.set()
        if self.fetching is not None:
            self.fetching.cancel()  # it may be waiting at the broker for a message we no longer want

    def put(self, result: PullResult, epoch: int) -> bool:
        """Whether there is something to hand out now."""
        if epoch != self.epoch:
            return False
        self.fetch_offset = result.next_offset
        if not result.data:
            if not self._chunks:
                self.position = result.next_offset
            return False
        self._chunks.append(_Chunk(result.data, result.next_offset))
        self.size_bytes += len(result.data)
        return True

    def take(self, limit: int) -> list[ReceivedMessage]:
        """Up to `limit` messages, oldest first."""
        taken: list[ReceivedMessage] = []
        while self._chunks and len(taken) < limit and not self.paused:
            chunk = self._chunks[0]
            messages = self._messages_of(chunk)
            room = limit - len(taken)
            if len(messages) > room:
                taken += [messages.popleft() for _ in range(room)]
                self.position = taken[-1].queue_offset + 1
            else:
                taken += messages
                self._chunks.popleft()
                self.size_bytes -= len(chunk.data)
                self.position = chunk.next_offset
        self.changed.set()
        return taken

    def _messages_of(self, chunk: _Chunk) -> deque[ReceivedMessage]:
        if chunk.messages is None:
            chunk.messages = deque(self.subscription.select(split_records(chunk.data, self.queue.broker_name)))
        return chunk.messages

    def take_bytes(self) -> list[bytes]:
        """All whole pulls as they came; the arrow path decodes them without an object per message."""
        taken: list[bytes] = []
        while self._chunks and not self.paused and self._chunks[0].messages is None:
            chunk = self._chunks.popleft()
            taken.append(chunk.data)
            self.size_bytes -= len(chunk.data)
            self.position = chunk.next_offset
        self.changed.set()
        return taken
