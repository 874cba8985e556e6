"""Locks on queues for orderly consumers: per group and queue one client, until it unlocks or goes silent for a minute.

A client that asks again renews its lock. Locks live in memory only: a broker that starts anew grants them anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sprocketmq.codes import RequestCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.locks import LockBatchRequestBody, LockBatchResponseBody, UnlockBatchRequestBody
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.remoting import Connection, ProcessorTable, Reply
from sprocketmq.store.files.files import Clock

LIFETIME_MS = 60_000


@dataclass(slots=True)
class _Lock:
    client_id: str
    renewed_ms: int


class QueueLocks:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._groups: dict[str, dict[MessageQueue, _Lock]] = {}

    def lock(self, group: str, client_id: str, queues: Iterable[MessageQueue]) -> frozenset[MessageQueue]:
        """Those of `queues` that the client holds after the call."""
        return frozenset(queue for queue in queues if self._try_lock(group, client_id, queue))

    def _try_lock(self, group: str, client_id: str, queue: MessageQueue) -> bool:
        now = self._clock.monotonic_ms()
        locks = self._groups.setdefault(group, {})
        held = locks.get(queue)
        if held is not None and held.client_id != client_id and now - held.renewed_ms <= LIFETIME_MS:
            return False
        locks[queue] = _Lock(client_id, now)
        return True

    def unlock(self, group: str, client_id: str, queues: Iterable[MessageQueue]) -> None:
        locks = self._groups.get(group, {})
        for queue in queues:
            held = locks.get(queue)
            if held is not None and held.client_id == client_id:
                del locks[queue]
        if not locks:
            self._groups.pop(group, None)

    def is_locked(self, group: str) -> bool:
        """Whether a client of the group holds any queue now: then the group consumes in order."""
        now = self._clock.monotonic_ms()
        return any(now - held.renewed_ms <= LIFETIME_MS for held in self._groups.get(group, {}).values())


class LockProcessors:
    def __init__(self, locks: QueueLocks) -> None:
        self._locks = locks

    def add_to(self, table: ProcessorTable) -> None:
        table.add(RequestCode.LOCK_BATCH_MQ, self.lock)
        table.add(RequestCode.UNLOCK_BATCH_MQ, self.unlock)

    def lock(self, _connection: Connection, request: Command) -> Reply:
        body = codec.decode(LockBatchRequestBody, request.body)
        held = self._locks.lock(body.consumer_group, body.client_id, body.mq_set)
        return request.reply(body=codec.encode(LockBatchResponseBody(lock_okmqset=held)))

    def unlock(self, _connection: Connection, request: Command) -> Reply:
        body = codec.decode(UnlockBatchRequestBody, request.body)
        self._locks.unlock(body.consumer_group, body.client_id, body.mq_set)
        return request.reply()
