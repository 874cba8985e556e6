"""Locks on queues, by which brokers see to it that one consumer at a time reads a queue in order."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter

from sprocketmq.client.cluster.instance import ClientInstance
from sprocketmq.client.errors import ClientError
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.locks import LockBatchRequestBody, LockBatchResponseBody, UnlockBatchRequestBody
from sprocketmq.protocol.message_queue import MessageQueue

log = logging.getLogger("sprocketmq.client.push.locks")


class LockRequests:
    """The locks of one consumer. A lock lives 60 s at the broker unless it is taken again."""

    def __init__(self, instance: ClientInstance, group: str) -> None:
        self._instance, self._group = instance, group

    async def lock(self, queues: Iterable[MessageQueue]) -> tuple[set[MessageQueue], set[MessageQueue]]:
        """Those of `queues` that are ours after the call, and those that the broker has refused.

        The rest could not be asked for: of them nobody knows.
        """
        ours: set[MessageQueue] = set()
        refused: set[MessageQueue] = set()
        for per_broker in _by_broker(queues):
            body = LockBatchRequestBody(
                consumer_group=self._group, client_id=self._instance.client_id, mq_set=frozenset(per_broker)
            )
            try:
                address = await self._instance.address_of(per_broker[0])
                answer = await self._instance.call(address, RequestCode.LOCK_BATCH_MQ, body=codec.encode(body))
            except ClientError as error:
                log.info("lock failed queues=%s error=%s", list(map(str, per_broker)), error)
            else:
                granted = codec.decode(LockBatchResponseBody, answer.body).lock_okmqset
                ours |= granted
                refused |= set(per_broker) - granted
        return ours, refused

    async def unlock(self, queues: Iterable[MessageQueue]) -> None:
        """Let them go at once, so that the next owner need not wait for the locks to expire."""
        for per_broker in _by_broker(queues):
            body = UnlockBatchRequestBody(
                consumer_group=self._group, client_id=self._instance.client_id, mq_set=frozenset(per_broker)
            )
            try:
                address = await self._instance.address_of(per_broker[0])
                await self._instance.call(address, RequestCode.UNLOCK_BATCH_MQ, body=codec.encode(body), timeout=1.0)
            except ClientError as error:
                log.info("unlock failed queues=%s error=%s", list(map(str, per_broker)), error)


def _by_broker(queues: Iterable[MessageQueue]) -> list[list[MessageQueue]]:
    name = attrgetter("broker_name")
    return [list(group) for _, group in groupby(sorted(queues, key=name), key=name)]
