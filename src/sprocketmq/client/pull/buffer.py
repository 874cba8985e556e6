"""What has been fetched of one queue and not been asked for yet, as the bytes that came.

    fetch_offset    where the next pull begins
    position        the offset after the last message that was handed out
Seeking moves both, and empties the buffer; what an earlier pull still brings is dropped by its `epoch`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

from sprocketmq.client.cluster import unreadable_records
from sprocketmq.client.cluster.pull_request import PullResult
from sprocketmq.client.received import ReceivedMessage
from sprocketmq.client.subscription import Subscription
from sprocketmq.protocol.message_queue import MessageQueue


@dataclass(slots=True, eq=False)
class _Chunk:
    """One pull's records: undecoded bytes, or the messages that are left when some were taken."""

    data: bytes
    begin: int
    next_offset: int
    messages: deque[ReceivedMessage] | None = None

    def bytes_left(self) -> bytes:
        return self.data if self.messages is None else b"".join(message.raw for message in self.messages)


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
        self.fetch_offset = self.position = offset
        self._chunks.clear()
        self.size_bytes = 0
        self._drop_fetch()

    def select(self, subscription: Subscription) -> None:
        """Go on with what another subscription selects; what was fetched by the old one is fetched again."""
        if subscription != self.subscription:
            self.subscription = subscription
            self.seek(self.position)

    def put(self, result: PullResult, epoch: int) -> bool:
        """Whether there is something to hand out now."""
        if epoch != self.epoch:
            return False
        begin, self.fetch_offset = self.fetch_offset, result.next_offset
        if not result.data:
            if not self._chunks:
                self.position = result.next_offset
            return False
        self._chunks.append(_Chunk(result.data, begin, result.next_offset))
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
            found, after = unreadable_records.split(chunk.data, self.queue, chunk.begin, chunk.next_offset)
            chunk.messages = deque(unreadable_records.select(self.subscription, found, self.queue))
            if after != chunk.next_offset:
                self._fetch_again(chunk, after)
        return chunk.messages

    def _fetch_again(self, damaged: _Chunk, after: int) -> None:
        """What lies behind an unreadable record is pulled once more, from `after` on."""
        damaged.next_offset = self.fetch_offset = after
        self._chunks = deque([damaged])
        self.size_bytes = len(damaged.data)
        self._drop_fetch()

    def _drop_fetch(self) -> None:
        self.epoch += 1
        self.changed.set()
        if self.fetching is not None:
            self.fetching.cancel()  # it may be waiting at the broker for a message we no longer want

    def pieces(self, *, carefully: bool = False) -> list[bytes]:
        """All pulls as they came, for the arrow path, which decodes them without an object per message.

        Of a pull that messages were taken from, what is left; `carefully` leaves out what cannot be read.
        """
        if self.paused:
            return []
        if carefully:
            for chunk in list(self._chunks):
                if chunk in self._chunks:  # damage before it has dropped what came behind
                    chunk.messages = deque(unreadable_records.readable(self._messages_of(chunk), self.queue))
        return [chunk.bytes_left() for chunk in self._chunks]

    def hand_out_all(self) -> None:
        """What `pieces` gave is the caller's."""
        self.position = self._chunks[-1].next_offset
        self._chunks.clear()
        self.size_bytes = 0
        self.changed.set()
