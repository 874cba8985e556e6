"""Locks on queues for orderly consumers: per group and queue one client, until it unlocks or goes silent for a minute.

A client that asks again renews its lock. Locks live in memory only: a broker that starts anew grants them anew. So many
are held of one group and so many in all; one more is not granted, and those that nobody renews are forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from operator import attrgetter

from sprocketmq.broker.settings import Settings
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol import names
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.locks import LockBatchRequestBody, LockBatchResponseBody, UnlockBatchRequestBody
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.remoting import Connection, ProcessorTable, Steps, each
from sprocketmq.store.files.clock import Clock

LIFETIME_MS = 60_000
#: Of all groups together.
MAX_LOCKS = 100_000
MAX_QUEUE_ID = 1 << 16


@dataclass(slots=True)
class _Lock:
    client_id: str
    renewed_ms: int


class QueueLocks:
    def __init__(self, clock: Clock, settings: Settings) -> None:
        self.refused = 0
        self._clock = clock
        self._settings = settings
        self._groups: dict[str, dict[MessageQueue, _Lock]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def lock(self, group: str, client_id: str, queue: MessageQueue) -> bool:
        """Whether the client holds the queue after the call."""
        now = self._clock.monotonic_ms()
        locks = self._groups.setdefault(group, {})
        held = locks.get(queue)
        if held is None:
            if not self._has_room(locks):
                self.refused += 1
                return False
            self._count += 1
        elif held.client_id != client_id and now - held.renewed_ms <= LIFETIME_MS:
            return False
        locks[queue] = _Lock(client_id, now)
        return True

    def _has_room(self, locks: dict[MessageQueue, _Lock]) -> bool:
        return self._count < MAX_LOCKS and len(locks) < self._settings.current.max_locks_per_group

    def expire(self) -> None:
        """Forget those that nobody has renewed."""
        oldest = self._clock.monotonic_ms() - LIFETIME_MS
        for group, locks in list(self._groups.items()):
            silent = [queue for queue, held in locks.items() if held.renewed_ms < oldest]  # as a rule none
            for queue in silent:
                del locks[queue]
            self._count -= len(silent)
            if not locks:
                del self._groups[group]

    def unlock(self, group: str, client_id: str, queue: MessageQueue) -> None:
        locks = self._groups.get(group, {})
        held = locks.get(queue)
        if held is not None and held.client_id == client_id:
            del locks[queue]
            self._count -= 1
        if not locks:
            self._groups.pop(group, None)

    def is_locked(self, group: str) -> bool:
        """Whether a client of the group holds any queue now: then the group consumes in order."""
        now = self._clock.monotonic_ms()
        return any(now - held.renewed_ms <= LIFETIME_MS for held in self._groups.get(group, {}).values())


class LockProcessors:
    """A request may name thousands of queues, so each thing that is done with all of them is done in turns."""

    def __init__(self, locks: QueueLocks) -> None:
        self._locks = locks

    def add_to(self, table: ProcessorTable) -> None:
        table.add_long(RequestCode.LOCK_BATCH_MQ, self.lock)
        table.add_long(RequestCode.UNLOCK_BATCH_MQ, self.unlock)

    def lock(self, _connection: Connection, request: Command) -> Steps:
        body, (asked,) = codec.decode_apart(LockBatchRequestBody, request.body, "mq_set")
        queues = _NamedQueues(body)
        yield from each(asked, queues.add)
        held: list[MessageQueue] = []

        def lock(queue: MessageQueue) -> None:
            if self._locks.lock(body.consumer_group, body.client_id, queue):
                held.append(queue)

        yield from each(queues.found, lock)
        held.sort(key=attrgetter("topic", "broker_name", "queue_id"))
        trees: list[object] = []
        yield from each(held, lambda queue: trees.append(codec.to_tree(queue)))
        answer = yield from codec.encode_in_steps(LockBatchResponseBody(), "lock_okmqset", trees)
        return request.reply(body=answer)

    def unlock(self, _connection: Connection, request: Command) -> Steps:
        body, (asked,) = codec.decode_apart(UnlockBatchRequestBody, request.body, "mq_set")
        queues: list[MessageQueue] = []
        yield from each(asked, queues.append)
        yield from each(queues, partial(self._locks.unlock, body.consumer_group, body.client_id))
        return request.reply()


class _NamedQueues:
    """The queues of a request, each once; RequestRefused names what cannot be the name of one."""

    def __init__(self, body: LockBatchRequestBody) -> None:
        self.found: dict[MessageQueue, None] = {}
        self._right: set[tuple[str, str]] = set()
        _refuse(names.group_fault(body.consumer_group) or names.client_id_fault(body.client_id))

    def add(self, queue: MessageQueue) -> None:
        name = (queue.topic, queue.broker_name)
        if name not in self._right:
            _refuse(names.topic_fault(queue.topic) or names.broker_name_fault(queue.broker_name))
            self._right.add(name)
        if not 0 <= queue.queue_id < MAX_QUEUE_ID:
            _refuse(f"there is no queue {queue.queue_id}")
        self.found[queue] = None


def _refuse(fault: str | None) -> None:
    if fault is not None:
        raise RequestRefused(ResponseCode.INVALID_PARAMETER, fault)
