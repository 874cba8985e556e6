"""Sends: SEND_MESSAGE, SEND_MESSAGE_V2 and SEND_BATCH_MESSAGE.

    frame -> SendRequest -> admitted? -> [interceptors] -> store -> [wait for the disk] -> answer

Most messages go the straight way, see `straight`; here is the way that can do everything.

What the broker adds to a message: MSG_REGION, TRACE_ON and CLUSTER, and UNIQ_KEY when the producer gave none. Of two
properties with one name the later counts, so they are appended to the text as it came.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from functools import partial

from sprocketmq.broker.config import BrokerConfig
from sprocketmq.broker.metrics.counter import Counter
from sprocketmq.broker.metrics.stats import Stats
from sprocketmq.broker.send.backpressure import Pressure
from sprocketmq.broker.send.durable_acks import Acks
from sprocketmq.broker.send.former_answer import join_ids
from sprocketmq.broker.send.former_handler import Lane, StraightSend
from sprocketmq.broker.send.message import TRANSACTION_BITS, Interceptor, Message, is_special
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.static_topic.handler import LogicalRequests
from sprocketmq.broker.tables.topics import UNIT, UNIT_SUBSCRIPTION, TopicTable
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol import names
from sprocketmq.protocol.bodies.topic import PERM_WRITE, TopicConfig
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.record.ids import UniqueIds
from sprocketmq.protocol.record.properties import (
    CLUSTER,
    DELAY,
    MSG_REGION,
    POP_CK,
    TRACE_ON,
    TRANSIENT_PREFIX,
    UNIQUE_KEY,
    decode_properties,
    encode_properties,
    find_property,
)
from sprocketmq.protocol.requests.send import SendRequest, encode_send_reply
from sprocketmq.remoting import Connection, ProcessorTable, Reply
from sprocketmq.store.log.append import PutResult, PutStatus
from sprocketmq.store.store import MessageStore

_UNIQUE_KEY = UNIQUE_KEY.encode()
_WAIT_FALSE = b"WAIT\x01false"

#: The answer to what the store says; what is not here is stored.
_REFUSALS: dict[int, tuple[int, str]] = {
    PutStatus.FLUSH_DISK_TIMEOUT: (ResponseCode.FLUSH_DISK_TIMEOUT, "the disk was not reached in time"),
    PutStatus.FLUSH_SLAVE_TIMEOUT: (ResponseCode.FLUSH_SLAVE_TIMEOUT, "no slave confirmed in time"),
    PutStatus.SLAVE_NOT_AVAILABLE: (ResponseCode.SLAVE_NOT_AVAILABLE, "no slave is there"),
    PutStatus.SERVICE_NOT_AVAILABLE: (ResponseCode.SERVICE_NOT_AVAILABLE, "the store takes no messages now"),
    PutStatus.CREATE_MAPPED_FILE_FAILED: (ResponseCode.SERVICE_NOT_AVAILABLE, "the store cannot make a file"),
    PutStatus.MESSAGE_ILLEGAL: (ResponseCode.MESSAGE_ILLEGAL, "the message is too large or malformed"),
    PutStatus.PROPERTIES_SIZE_EXCEEDED: (ResponseCode.MESSAGE_ILLEGAL, "the properties exceed 32767 bytes"),
}


class SendProcessors:
    def __init__(
        self, settings: Settings, store: MessageStore, topics: TopicTable, acks: Acks, stats: Stats,
        pressure: Pressure, unique_ids: UniqueIds, now_ms: Callable[[], int],
    ) -> None:  # fmt: skip
        self.interceptors: list[Interceptor] = []
        #: Tells the nameservers of new topics; the send that made one is answered when they know.
        self.announce: Callable[[], Awaitable[None]] | None = None
        #: Takes the sends to static topics.
        self.logical: LogicalRequests | None = None
        self._announcing: set[asyncio.Task[None]] = set()
        self._settings = settings
        self._store = store
        self._topics = topics
        self._acks = acks
        self._stats = stats
        self._pressure = pressure
        self._unique_ids = unique_ids
        self._now_ms = now_ms
        self._id_prefix = ""
        self._straight = StraightSend(store.appender, self.detour, self._not_stored, self._park if acks.waits else None)
        self._configure(settings.current)
        self._open_or_close()
        settings.on_change.append(self._configure)
        pressure.on_change.append(self._open_or_close)
        topics.on_change.append(lambda _config: self.close_lanes())

    def add_to(self, table: ProcessorTable) -> None:
        codes = (RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE)
        table.add_hot(codes, self._straight.send)

    def set_store_host(self, store_host: bytes) -> None:
        """What message ids begin with."""
        self._id_prefix = store_host.hex().upper()
        self._configure(self._settings.current)

    def _configure(self, config: BrokerConfig) -> None:
        self._added = {
            MSG_REGION: config.region_id,
            TRACE_ON: "true" if config.trace_on else "false",
            CLUSTER: config.broker_cluster_name,
        }
        self._suffix = encode_properties(self._added).encode()
        self._straight.configure(self._id_prefix, config.region_id, config.trace_on, self._suffix)
        self._straight.lanes.clear()

    def close_lanes(self) -> None:
        """Have every topic admitted anew: what may be sent to it has changed."""
        self._straight.lanes.clear()

    def _open_or_close(self) -> None:
        self._straight.open = self._pressure.remark is None and len(self._acks) < self._waiting_limit

    # -- one message --------------------------------------------------------------------------------------------------

    def detour(self, connection: Connection, request: Command, sent: SendRequest) -> Reply:
        """Any send that the straight way does not take."""
        if self.logical is not None and sent.topic in self.logical.topics and self.logical.owns(sent.topic, request):
            return self.logical.take(connection, request)
        try:
            self._check_waiting()
            lane = self._straight.lanes.get(sent.topic)
            is_new = lane is None and self._topics.get(sent.topic) is None
            queues = self._admit(sent) if lane is None or self._pressure.remark is not None else lane.queues
            queue_id = sent.queue_id
            if not 0 <= queue_id < queues:
                queue_id = self._choose_queue(sent, queues)
            send = self._send_batch if sent.batch else self._send_one
            reply = send(connection, request, sent, queue_id)
            return self._when_announced(connection, request, reply) if is_new else reply
        except RequestRefused as refused:
            return self._refuse(request, refused.code, refused.remark)

    def _when_announced(self, connection: Connection, request: Command, reply: Reply) -> Reply:
        """A producer that has its answer may tell a consumer of the topic: the route must be there by then."""
        if reply is None or request.is_oneway or self.announce is None:
            return reply
        task = asyncio.ensure_future(self._reply_announced(self.announce, connection, reply))
        self._announcing.add(task)
        task.add_done_callback(self._announcing.discard)
        return None

    async def _reply_announced(
        self, announce: Callable[[], Awaitable[None]], connection: Connection, reply: Command | bytes | list[bytes]
    ) -> None:
        await announce()
        connection.reply(reply)

    def _send_one(self, connection: Connection, request: Command, message: SendRequest, queue_id: int) -> Reply:
        properties = message.properties
        if message.sys_flag & TRANSACTION_BITS or message.topic[:1] == "%" or is_special(properties):
            return self._send_special(connection, request, message, queue_id)
        if not request.body:
            raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, "the message has no body")
        unique_key = find_property(properties, _UNIQUE_KEY)
        key = self._unique_ids.next() if unique_key is None else unique_key.decode("utf-8", "replace")
        if properties and properties[-1] != 2:
            properties += b"\x02"
        properties += self._suffix if unique_key is not None else b"UNIQ_KEY\x01%b\x02" % key.encode() + self._suffix
        result = self._store.put(
            message.topic, queue_id, message.flag, message.sys_flag, request.body, properties, message.born_timestamp,
            connection.peer.packed, message.reconsume_times, 0,
        )  # fmt: skip
        if result.status != 0:
            return self._not_stored(request, result)
        counter = self._stats.put(message.topic, queue_id, 1, result.size)
        if self._acks.waits and _WAIT_FALSE not in properties:
            return self._wait(connection, request, result, self._id(result.commit_offset), queue_id, key, counter)
        return encode_send_reply(
            request, 0, None, f"{self._id_prefix}{result.commit_offset:016X}", queue_id, result.queue_offset, key,
            self._region, self._traced,
        )  # fmt: skip

    # -- other ways ---------------------------------------------------------------------------------------------------

    def _send_special(self, connection: Connection, request: Command, sent: SendRequest, queue_id: int) -> Reply:
        """A message that may be of another kind: whoever knows the kind changes it before it is stored."""
        if not request.body:
            raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, "the message has no body")
        properties = decode_properties(sent.properties)
        key = properties.get(UNIQUE_KEY) or self._unique_ids.next()
        properties = {name: text for name, text in properties.items() if not name.startswith(TRANSIENT_PREFIX)}
        properties.pop(POP_CK, None)
        message = Message(
            topic=sent.topic,
            queue_id=queue_id,
            body=request.body,
            properties=properties | self._added | {UNIQUE_KEY: key},
            born_timestamp=sent.born_timestamp,
            born_host=connection.peer.packed,
            flag=sent.flag,
            sys_flag=sent.sys_flag,
            reconsume_times=sent.reconsume_times,
            request=sent,
            client_version=request.version,
        )
        for intercept in self.interceptors:
            intercept(message)
        result = message.put_to(self._store)
        if result.status != 0:
            return self._not_stored(request, result)
        counter = self._stats.put(message.topic, message.queue_id, 1, result.size)
        if self._acks.waits and message.waits:
            return self._wait(
                connection, request, result, self._id(result.commit_offset), queue_id, key, counter,
                recall_handle=message.recall_handle,
            )  # fmt: skip
        return self._encode(
            request, 0, None, self._id(result.commit_offset), queue_id, result.queue_offset, key,
            recall_handle=message.recall_handle,
        )  # fmt: skip

    def _send_batch(self, connection: Connection, request: Command, sent: SendRequest, queue_id: int) -> Reply:
        """Each message gets its own properties and the batch's, save the batch's unique key: each has one itself.

        For the same reason the answer names no `batchUniqId`: Java clients would take it for the id of all messages.
        """
        properties = decode_properties(sent.properties)
        if sent.topic.startswith(names.RETRY_PREFIX) or sent.sys_flag & TRANSACTION_BITS or DELAY in properties:
            raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, "a batch cannot be retried, delayed or a transaction")
        key = properties.pop(UNIQUE_KEY, None)
        extra = encode_properties(properties | self._added).encode()
        result = self._store.put_batch(
            sent.topic, queue_id, sent.sys_flag, request.body, extra, sent.born_timestamp, connection.peer.packed,
            sent.reconsume_times,
        )  # fmt: skip
        if result.status != 0:
            return self._not_stored(request, result)
        counter = self._stats.put(sent.topic, queue_id, result.count, result.size)
        ids = join_ids(self._id_prefix.encode(), result)
        if self._acks.waits and properties.get("WAIT") != "false":
            return self._wait(connection, request, result, ids, queue_id, key, counter)
        return self._encode(request, 0, None, ids, queue_id, result.queue_offset, key)

    # -- may it be sent? ----------------------------------------------------------------------------------------------

    def _admit(self, sent: SendRequest) -> int:
        """How many queues the topic has, when this may be sent to it; what a send may do once, it may do again."""
        self._pressure.refuse()
        config = self._settings.current
        if self._now_ms() < config.start_accept_send_request_time_stamp:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, "this broker does not take messages yet")
        fault = names.topic_fault(sent.topic)
        if fault is not None:
            raise RequestRefused(ResponseCode.INVALID_PARAMETER, fault)
        if sent.topic in names.CLOSED_TOPICS:
            raise RequestRefused(ResponseCode.NO_PERMISSION, f"clients may not send to {sent.topic}")
        topic = self._topics.get(sent.topic) or self._create(sent)
        if not topic.writable or (topic.order and not config.broker_permission & PERM_WRITE):
            raise RequestRefused(ResponseCode.NO_PERMISSION, f"topic {sent.topic} may not be written")
        queues = max(topic.read_queue_nums, topic.write_queue_nums)
        is_static = self.logical is not None and sent.topic in self.logical.topics
        if not config.start_accept_send_request_time_stamp and sent.topic[:1] != "%" and not is_static:
            self._straight.lanes[sent.topic] = Lane(queues, self._stats.topic(sent.topic).grow(queues))
        return queues

    @property
    def _waiting_limit(self) -> int:
        return self._settings.current.send_thread_pool_queue_capacity

    def _check_waiting(self) -> None:
        if len(self._acks) >= self._waiting_limit:
            raise RequestRefused(ResponseCode.SYSTEM_BUSY, f"[OVERLOAD]{self._waiting_limit} sends wait for the disk")
        if not self._straight.open:
            self._open_or_close()

    def _create(self, sent: SendRequest) -> TopicConfig:
        flag = 0
        if names.is_retry_topic(sent.topic):
            return self._topics.create_own(sent.topic, 1, sys_flag=UNIT_SUBSCRIPTION if sent.unit_mode else 0)
        if sent.unit_mode:
            flag = UNIT
        return self._topics.create_by_send(sent.topic, sent.default_topic, sent.default_topic_queue_nums, flag)

    def _choose_queue(self, sent: SendRequest, queues: int) -> int:
        """Below zero the broker chooses one of those that are written to."""
        if sent.queue_id >= queues:
            remark = f"topic {sent.topic} has {queues} queues, there is no queue {sent.queue_id}"
            raise RequestRefused(ResponseCode.INVALID_PARAMETER, remark)
        topic = self._topics.get(sent.topic)
        writable = 0 if topic is None else topic.write_queue_nums
        if writable <= 0:
            raise RequestRefused(ResponseCode.NO_PERMISSION, f"topic {sent.topic} has no queue to write to")
        return random.randrange(writable)

    # -- answers ------------------------------------------------------------------------------------------------------

    @property
    def _region(self) -> str:
        return self._added[MSG_REGION]

    @property
    def _traced(self) -> bool:
        return self._settings.current.trace_on

    def _id(self, commit_offset: int) -> str:
        return f"{self._id_prefix}{commit_offset:016X}"

    def _encode(
        self, request: Command, code: int, remark: str | None, msg_id: str, queue_id: int, queue_offset: int,
        key: str | None, recall_handle: str | None = None,
    ) -> bytes:  # fmt: skip
        return encode_send_reply(
            request, code, remark, msg_id, queue_id, queue_offset, key, self._region, self._traced,
            recall_handle=recall_handle,
        )  # fmt: skip

    def _wait(
        self, connection: Connection, request: Command, result: PutResult, msg_id: str, queue_id: int,
        key: str | None, counter: Counter, recall_handle: str | None = None,
    ) -> Reply:  # fmt: skip
        """Answer when the message is on disk."""
        if request.is_oneway:
            return None

        def encode(code: int, remark: str | None) -> bytes:
            return self._encode(request, code, remark, msg_id, queue_id, result.queue_offset, key, recall_handle)

        self._acks.add(result.end_offset, connection, encode, counter=counter)
        return None

    def _park(
        self, connection: Connection, request: Command, sent: SendRequest, result: PutResult, success: bytes,
        counter: Counter,
    ) -> None:  # fmt: skip
        """Keep the answer of the straight way until the message is on disk."""
        self._acks.add(result.end_offset, connection, partial(self._late, request, sent, result), success, counter)
        if len(self._acks) >= self._waiting_limit:
            self._straight.open = False

    def _late(self, request: Command, sent: SendRequest, result: PutResult, code: int, remark: str | None) -> bytes:
        key = find_property(sent.properties, _UNIQUE_KEY)
        return self._encode(
            request, code, remark, join_ids(self._id_prefix.encode(), result), sent.queue_id, result.queue_offset,
            None if key is None else key.decode("utf-8", "replace"),
        )  # fmt: skip

    def _not_stored(self, request: Command, result: PutResult) -> Reply:
        failure = self._store.failure
        code, remark = _REFUSALS.get(result.status, (ResponseCode.SYSTEM_ERROR, "the store failed"))
        return self._refuse(request, code, remark if failure is None else str(failure))

    def _refuse(self, request: Command, code: int, remark: str) -> Reply:
        """Even a refusal tells the region and whether traces are wanted, as RocketMQ's does."""
        added = {MSG_REGION: self._added[MSG_REGION], TRACE_ON: self._added[TRACE_ON]}
        return request.reply(code, remark, ext_fields=added)
