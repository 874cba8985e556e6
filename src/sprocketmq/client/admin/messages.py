"""Finding messages: by id, by key, by place, and what became of them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from sprocketmq.client.admin.core import AdminCore
from sprocketmq.client.admin.groups import Groups
from sprocketmq.client.admin.topics import Topics
from sprocketmq.client.cluster.pull_request import OutgoingPull, PullStatus, pull
from sprocketmq.client.cluster.requests import request
from sprocketmq.client.errors import ClientError, Refused
from sprocketmq.client.received import ReceivedMessage, inside, split_records
from sprocketmq.client.subscription import Subscription
from sprocketmq.client.telemetry.trace_records import TraceRecord, parse_records
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import CommandError
from sprocketmq.protocol import bodies, headers
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.headers.send_back import ConsumerSendMsgBackRequestHeader
from sprocketmq.protocol.headers.transaction import ResumeCheckHalfMessageRequestHeader
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.names import TRACE_TOPIC
from sprocketmq.protocol.record.hosts import host_text
from sprocketmq.protocol.record.ids import decode_offset_message_id

TOOLS_GROUP = "TOOLS_CONSUMER"
FOREVER_MS = 2**63 - 1
_MOST = 32
_READ = 256
_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Track:
    """What became of a message in one group."""

    group: str
    state: str  # consumed, pending, filtered, offline, unknown
    detail: str = ""


class Messages:
    def __init__(self, core: AdminCore, topics: Topics, groups: Groups) -> None:
        self._core, self._topics, self._groups = core, topics, groups

    async def get(self, message_id: str, topic: str | None = None) -> ReceivedMessage:
        """By the broker's id or the sender's; without a topic the sender's is looked for in all of them.

        Raises Refused when there is no such message.
        """
        if topic is None and await self._is_sender_id(message_id):
            return await self._search(message_id)
        if topic is not None:
            found = await self._query(topic, message_id, 0, FOREVER_MS, _MOST, unique=True)
            same = [message for message in found if message.message_id == message_id]
            if same:
                return max(same, key=lambda message: message.record.store_timestamp)
            try:
                return await self._view(message_id)
            except (ClientError, CommandError):
                raise Refused(ResponseCode.NO_MESSAGE, f"no message {message_id} in topic {topic}") from None
        return await self._view(message_id)

    async def find(
        self, topic: str, key: str, *, begin_ms: int = 0, end_ms: int = FOREVER_MS, limit: int = 64
    ) -> list[ReceivedMessage]:
        """The messages of a topic that carry `key`, oldest first."""
        found = await self._query(topic, key, begin_ms, end_ms, limit, unique=False)
        return sorted((m for m in found if key in m.keys), key=lambda m: m.record.store_timestamp)[:limit]

    async def at(self, queue: MessageQueue, offset: int) -> ReceivedMessage | None:
        """The message at an offset of a queue; None when there is none (any more)."""
        asked = OutgoingPull(queue, offset, Subscription(queue.topic), 1)
        result = await pull(self._core.instance, TOOLS_GROUP, asked)
        if result.status is not PullStatus.FOUND:
            return None
        return next((message for message in result.messages() if message.queue_offset == offset), None)

    async def read(
        self, queue: MessageQueue, offset: int, subscription: Subscription, *, wait: float = 0.0
    ) -> tuple[list[ReceivedMessage], int]:
        """Messages of a queue from `offset` on, and where to read on; no group is asked and nothing is committed.

        With `wait` the broker holds the request for so many seconds when there is nothing.
        """
        asked = OutgoingPull(queue, offset, subscription, _READ, suspend=wait)
        result = await pull(self._core.instance, TOOLS_GROUP, asked)
        found = subscription.select(result.messages()) if result.data else []
        return inside(self._core.instance.options.namespace, found), result.next_offset

    async def track(self, message: ReceivedMessage) -> list[Track]:
        """Which groups have consumed it, judged by how far they are in its queue."""
        topic = message.stored_topic
        names = await self._topics.groups(topic)
        return [await self._track(group, message) for group in names]

    async def trace(self, message_id: str, *, topic: str = TRACE_TOPIC) -> list[TraceRecord]:
        """What producers and consumers that trace have recorded of a message, oldest first."""
        found = await self._query(topic, message_id, 0, FOREVER_MS, 64, unique=False)
        records = [record for message in found for record in parse_records(message.body.decode(errors="replace"))]
        return sorted((r for r in records if message_id in r.message_ids), key=lambda r: r.timestamp_ms)

    async def consume_directly(
        self, group: str, client_id: str, message_id: str
    ) -> bodies.running_info.ConsumeMessageDirectlyResult:
        """Have one running consumer consume one message now. `message_id` is the broker's."""
        address, _, _ = await self._place(message_id)
        header = headers.client.ConsumeMessageDirectlyResultRequestHeader(
            consumer_group=self._core.name(group), client_id=client_id, msg_id=message_id
        )
        answer = await self._core.call(address, RequestCode.CONSUME_MESSAGE_DIRECTLY, header)
        return codec.decode(bodies.running_info.ConsumeMessageDirectlyResult, answer.body)

    async def give_back(self, group: str, message: ReceivedMessage) -> None:
        """Have the group, and no other, try a message again: the way out of its dead-letter queue."""
        header = ConsumerSendMsgBackRequestHeader(
            offset=message.record.commit_offset,
            group=self._core.name(group),
            delay_level=1,
            origin_msg_id=message.offset_message_id,
            origin_topic=message.stored_topic,
            max_reconsume_times=message.record.reconsume_times + 1,
            bname=message.broker_name,
        )
        address = await self._core.instance.address_of(message.queue)
        await self._core.call(address, RequestCode.CONSUMER_SEND_MSG_BACK, header)

    async def check_again(self, message: ReceivedMessage) -> None:
        """Have the producer asked again about a half message that was given up after too many checks."""
        header = ResumeCheckHalfMessageRequestHeader(msg_id=message.offset_message_id)
        address = await self._core.instance.address_of(message.queue)
        await self._core.call(address, RequestCode.RESUME_CHECK_HALF_MESSAGE, header)

    async def _is_sender_id(self, message_id: str) -> bool:
        """Both look alike: the broker's begins with the address of a broker of the cluster."""
        try:
            await self._place(message_id)
        except CommandError:
            return True
        except Refused as error:
            if error.code != ResponseCode.NO_MESSAGE:
                raise
            return True
        return False

    async def _search(self, message_id: str) -> ReceivedMessage:
        """In the users' topics first: retry and dead-letter topics hold copies."""
        users = await self._topics.names()
        others = [name for name in await self._topics.names(everything=True) if name not in users]
        for names in (users, others):
            found = await self._in_topics(message_id, names)
            if found:
                return max(found, key=lambda message: message.record.store_timestamp)
        raise Refused(ResponseCode.NO_MESSAGE, f"no message {message_id} in any topic")

    async def _in_topics(self, message_id: str, topics: list[str]) -> list[ReceivedMessage]:
        few = asyncio.Semaphore(_AT_ONCE)

        async def ask(topic: str) -> list[ReceivedMessage]:
            async with few:
                return await self._query(topic, message_id, 0, FOREVER_MS, _MOST, unique=True)

        answers = await asyncio.gather(*(ask(topic) for topic in topics), return_exceptions=True)
        listed = [answer for answer in answers if isinstance(answer, list)]
        return [message for answer in listed for message in answer if message.message_id == message_id]

    async def _view(self, message_id: str) -> ReceivedMessage:
        address, name, offset = await self._place(message_id)
        answer = await self._core.call(
            address, RequestCode.VIEW_MESSAGE_BY_ID, headers.query.ViewMessageRequestHeader(offset=offset)
        )
        return split_records(answer.body, name)[0]

    async def _place(self, message_id: str) -> tuple[str, str, int]:
        """The broker's address and name and the commit offset that a broker's id tells.

        Anybody can write an id, with any address in it: none is asked that is not of the cluster.
        """
        host, offset = decode_offset_message_id(message_id)
        address = host_text(host)
        for name, data in (await self._core.cluster()).broker_addr_table.items():
            if address in data.broker_addrs.values():
                return address, name, offset
        raise Refused(ResponseCode.NO_MESSAGE, f"no message {message_id}: {address} is no broker of the cluster")

    async def _query(
        self, topic: str, key: str, begin_ms: int, end_ms: int, limit: int, *, unique: bool
    ) -> list[ReceivedMessage]:
        full = self._core.name(topic)
        header = headers.query.QueryMessageRequestHeader(
            topic=full, key=key, max_num=limit, begin_timestamp=begin_ms, end_timestamp=end_ms
        )
        masters = await self._core.topic_masters(topic)
        answers = await asyncio.gather(*(self._ask(name, address, header, unique) for name, address in masters.items()))
        return [message for found in answers for message in found]

    async def _ask(
        self, broker_name: str, address: str, header: headers.query.QueryMessageRequestHeader, unique: bool
    ) -> list[ReceivedMessage]:
        command = request(RequestCode.QUERY_MESSAGE, header, _UNIQUE_KEY_QUERY="true" if unique else "false")
        answer = await self._core.instance.transport.call(address, command, 5.0)
        if answer.code == ResponseCode.QUERY_NOT_FOUND:
            return []
        if answer.code != ResponseCode.SUCCESS:
            raise Refused(answer.code, answer.remark, address)
        return split_records(answer.body, broker_name)

    async def _track(self, group: str, message: ReceivedMessage) -> Track:
        try:
            rows = await self._groups.lag(group, message.stored_topic)
        except ClientError as error:
            return Track(group, "unknown", str(error))
        offset = next((row.consumer_offset for row in rows if row.queue == message.queue), None)
        if offset is None:
            return Track(group, "pending", "the group has no offset in its queue")
        state = "consumed" if offset > message.queue_offset else "pending"
        return Track(group, state, f"the group is at {offset}, the message at {message.queue_offset}")
