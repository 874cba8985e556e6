"""A closed batch on its way to its queue: straight when that way is open; otherwise, or again, with care.

A batch that belongs to one queue is sent there until its deadline. Another goes elsewhere when its first queue fails.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from dataclasses import dataclass

from sprocketmq.client.cluster.route import Route
from sprocketmq.client.cluster.tasks import BackgroundTasks
from sprocketmq.client.errors import ClientError, Closed
from sprocketmq.client.message import SendReceipt
from sprocketmq.client.producer.encoder import BATCH_PROPERTIES, Encoder, Outgoing, now_ms
from sprocketmq.client.producer.send_answer import receipt_of
from sprocketmq.client.producer.sender import Sender
from sprocketmq.client.producer.straight import Lane
from sprocketmq.client.settings import ProducerSettings
from sprocketmq.errors import RemotingError
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.remoting.connection import Connection

_PROPERTIES = BATCH_PROPERTIES.encode()


@dataclass(slots=True)
class Parcel:
    """The body of a batch. `done` hears of it once: the broker's receipt, or why there is none."""

    body: bytearray
    route: Route
    queue: MessageQueue
    is_bound: bool  # to `queue`
    deadline: float
    done: Callable[[SendReceipt | ClientError], None]


class Delivery:
    """That of one producer."""

    def __init__(self, sender: Sender, encoder: Encoder, settings: ProducerSettings) -> None:
        self._sender = sender
        self._encoder = encoder
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._tasks = BackgroundTasks()
        self._stopped = False

    def start(self, parcel: Parcel) -> None:
        lane = self._sender.lanes.of(parcel.route).by_queue.get(parcel.queue)
        connection = None if lane is None else lane.connection()
        if lane is None or connection is None:
            self._tasks.spawn(self._send(parcel, again=False), f"batch to {parcel.queue}")
        else:
            self._send_straight(parcel, lane, connection)

    async def stop(self) -> None:
        """Parcels that are under way fail."""
        self._stopped = True
        await self._tasks.stop()

    def _send_straight(self, parcel: Parcel, lane: Lane, connection: Connection) -> None:
        started = self._loop.time()
        opaque, answer = connection.expect(min(self._settings.send_timeout, max(parcel.deadline - started, 0.001)))
        connection.put_now([lane.batches.head(opaque, now_ms(), 0, _PROPERTIES, len(parcel.body)), parcel.body])
        answer.add_done_callback(functools.partial(self._answered, parcel, lane, started))

    def _answered(self, parcel: Parcel, lane: Lane, started: float, answer: asyncio.Future[Command]) -> None:
        outcome: SendReceipt | ClientError
        try:
            outcome = receipt_of(answer.result(), "", lane.queue, lane.address)
        except RemotingError as lost:
            self._sender.took(lane.queue, started, failed=True)
            outcome = self._sender.instance.transport.failure(lane.address, lost, self._settings.send_timeout)
        except ClientError as refused:
            outcome = refused
        else:
            self._sender.took(lane.queue, started)
        if isinstance(outcome, ClientError) and self._may_try_again(parcel, outcome) and not self._stopped:
            self._tasks.spawn(self._send(parcel, again=True), f"batch to {parcel.queue}, again")
        else:
            parcel.done(outcome)

    async def _send(self, parcel: Parcel, *, again: bool) -> None:
        outgoing = self._encoder.batch(parcel.queue.topic, bytes(parcel.body))
        outcome: SendReceipt | ClientError = Closed("the producer was stopped")
        try:
            outcome = await self._send_carefully(outgoing, parcel, again)
        except ClientError as error:
            outcome = error
        finally:
            parcel.done(outcome)

    async def _send_carefully(self, outgoing: Outgoing, parcel: Parcel, again: bool) -> SendReceipt:
        if parcel.is_bound:
            return await self._sender.insist(outgoing, parcel.deadline, parcel.queue)
        if not again:
            try:
                first = min(parcel.deadline, self._sender.deadline())
                return await self._sender.attempt(outgoing, parcel.route, parcel.queue, first)
            except ClientError as error:
                if not self._may_try_again(parcel, error):
                    raise
        return await self._sender.send(outgoing, parcel.deadline)

    def _may_try_again(self, parcel: Parcel, error: ClientError) -> bool:
        return error.retriable and self._loop.time() < parcel.deadline
