"""Requests about a logical queue: who they are, and who answers them.

    logical request -> does this broker lead the queue? -> its way (see `translate`) -> answer

Clients ask the leader of a logical queue for everything; it forwards what an older item holds. `lo` false marks a
request for a physical queue of a static topic: one that was forwarded, or a tool's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Container
from functools import partial

from sprocketmq.broker.static_topic.forward import LogicalAsk, number_in, queue_field, topic_of
from sprocketmq.broker.static_topic.loopback import ask_inside
from sprocketmq.broker.static_topic.mappings import LogicalQueue, QueueMappings
from sprocketmq.broker.static_topic.peers import BrokerPeers
from sprocketmq.broker.static_topic.translate import WAYS
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.command import Command
from sprocketmq.remoting import Connection, Handler, ProcessorTable, Reply
from sprocketmq.remoting.handlers import refusal

_SENDS = (RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE)
_OFFSETS = (
    RequestCode.GET_MAX_OFFSET,
    RequestCode.GET_MIN_OFFSET,
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,
    RequestCode.GET_EARLIEST_MSG_STORETIME,
    RequestCode.QUERY_CONSUMER_OFFSET,
    RequestCode.UPDATE_CONSUMER_OFFSET,
)


class LogicalRequests:
    """`topics` are the static ones."""

    def __init__(self, mappings: QueueMappings, table: ProcessorTable, peers: BrokerPeers, broker_name: str) -> None:
        self.topics: Container[str] = mappings.details
        self._mappings = mappings
        self._table = table
        self._peers = peers
        self._broker_name = broker_name
        self._running: set[asyncio.Task[None]] = set()

    def add_to(self, table: ProcessorTable) -> None:
        """Stand before handlers that know nothing of logical queues; sends and pulls ask `owns` themselves."""
        table.guard(_OFFSETS, self._around)

    def owns(self, topic: str, request: Command) -> bool:
        """Whether the request is about a logical queue."""
        return topic in self.topics and (request.ext_fields or {}).get("lo", "").lower() != "false"

    def take(self, connection: Connection, request: Command) -> Reply:
        """Answer it later. Requests are begun in the order they came."""
        task = asyncio.get_running_loop().create_task(self._run(connection, request))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return None

    def _around(self, handler: Handler) -> Handler:
        def routed(connection: Connection, request: Command) -> Reply:
            if self._mappings.details and self.owns(topic_of(request), request):
                return self.take(connection, request)
            return handler(connection, request)

        return routed

    async def _run(self, connection: Connection, request: Command) -> None:
        try:
            ask = LogicalAsk(request, self._queue(request), partial(self._ask, connection))
            reply = await WAYS[request.code](ask)
        except Exception as error:  # noqa: BLE001 - the edge of this task
            reply = refusal(request, error, connection)
        if not request.is_oneway:
            connection.reply(reply, request)

    def _queue(self, request: Command) -> LogicalQueue:
        topic, queue_id = topic_of(request), number_in(request, queue_field(request))
        if queue_id < 0 and request.code in _SENDS:  # the broker chooses, among those that it leads
            queue_id = next(iter(self._mappings.infos([topic])[topic].curr_id_map), queue_id)
        return self._mappings.queue(topic, queue_id)

    async def _ask(self, connection: Connection, broker_name: str, physical: Command) -> Command:
        if broker_name == self._broker_name:
            return await ask_inside(self._table, connection, physical)
        return await self._peers.call(broker_name, physical)
