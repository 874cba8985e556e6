"""Requests about a logical queue: who they are, and who answers them.

    logical request -> does this broker lead the queue? -> its way (see `ways`) -> answer

Clients ask the leader of a logical queue for everything; it forwards what an older item holds. `lo` false marks a
request for a physical queue of a static topic: one that was forwarded, or a tool's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Container

from sprocketmq.broker.logical.inside import ask_inside
from sprocketmq.broker.logical.mappings import LogicalQueue, QueueMappings
from sprocketmq.broker.logical.peers import BrokerPeers
from sprocketmq.broker.logical.ways import WAYS
from sprocketmq.codes import RequestCode
from sprocketmq.errors import CommandError
from sprocketmq.protocol.bodies.mapping import LogicQueueMappingItem
from sprocketmq.protocol.command import Command
from sprocketmq.remoting import Connection, Handler, ProcessorTable, Reply
from sprocketmq.remoting.processors import refusal

#: Requests with short names of fields: the topic is `b`, the queue is `e`.
_SHORT = (RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE)
_SENDS = (RequestCode.SEND_MESSAGE, *_SHORT)
_OFFSETS = (
    RequestCode.GET_MAX_OFFSET,
    RequestCode.GET_MIN_OFFSET,
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,
    RequestCode.GET_EARLIEST_MSG_STORETIME,
    RequestCode.QUERY_CONSUMER_OFFSET,
    RequestCode.UPDATE_CONSUMER_OFFSET,
)


class LogicalRequests:
    def __init__(self, mappings: QueueMappings, table: ProcessorTable, peers: BrokerPeers, broker_name: str) -> None:
        self._mappings = mappings
        self._table = table
        self._peers = peers
        self._broker_name = broker_name
        #: The static topics.
        self.topics: Container[str] = mappings.details
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
            if self._mappings.details and self.owns((request.ext_fields or {}).get("topic", ""), request):
                return self.take(connection, request)
            return handler(connection, request)

        return routed

    async def _run(self, connection: Connection, request: Command) -> None:
        try:
            reply = await WAYS[request.code](LogicalAsk(self, connection, request, self._queue(request)))
        except Exception as error:  # noqa: BLE001 - the edge of this task
            reply = refusal(request, error, connection)
        if not request.is_oneway:
            connection.reply(reply)

    def _queue(self, request: Command) -> LogicalQueue:
        fields = request.ext_fields or {}
        is_short = request.code in _SHORT
        topic, queue_id = fields["b" if is_short else "topic"], _number(fields, "e" if is_short else "queueId")
        if queue_id < 0 and request.code in _SENDS:  # the broker chooses, among those that it leads
            queue_id = next(iter(self._mappings.infos([topic])[topic].curr_id_map), queue_id)
        return self._mappings.queue(topic, queue_id)

    async def ask(self, connection: Connection, bname: str, physical: Command) -> Command:
        if bname == self._broker_name:
            return await ask_inside(self._table, connection, physical)
        return await self._peers.call(bname, physical)


class LogicalAsk:
    """A client's request about `queue`, and how parts of it are asked of the brokers that hold its items."""

    def __init__(
        self, requests: LogicalRequests, connection: Connection, request: Command, queue: LogicalQueue
    ) -> None:
        self.queue = queue
        self.request = request
        self.fields = request.ext_fields or {}
        self._requests = requests
        self._connection = connection

    @property
    def queue_field(self) -> str:
        return "e" if self.request.code in _SHORT else "queueId"

    @property
    def flag_field(self) -> str:
        return "f" if self.request.code in _SHORT else "sysFlag"

    def number(self, key: str) -> int:
        return _number(self.fields, key)

    async def of(self, item: LogicQueueMappingItem, code: int | None = None, **changed: object) -> Command:
        """What the broker that holds `item` answers to this request, with its physical queue and `changed` fields."""
        request = self.request
        fields = {**self.fields, self.queue_field: str(item.queue_id), "lo": "false", "bname": item.bname}
        physical = Command(
            request.code if code is None else code,
            ext_fields={**fields, **{key: str(value) for key, value in changed.items()}},
            body=request.body,
            language=request.language,
            version=request.version,
        )
        return await self._requests.ask(self._connection, item.bname, physical)


def _number(fields: dict[str, str], key: str) -> int:
    try:
        return int(fields[key])
    except (KeyError, ValueError):
        raise CommandError(f"{key} is missing or no number") from None
