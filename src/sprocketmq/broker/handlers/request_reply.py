"""Request and reply: the answer to a request finds its way back to the client that asked.

A request is an ordinary message that names its sender in REPLY_TO_CLIENT. Whoever consumes it sends the reply here by
SEND_REPLY_MESSAGE; the broker pushes it to that client's connection and tells the replier whether it was taken. The
reply is kept in the log as well, unless `storeReplyMessageEnable` is off: so it passes the same admission as a send.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sprocketmq.broker.metrics.stats import Stats
from sprocketmq.broker.send.admission import SendAdmission
from sprocketmq.broker.send.message import BrokerMessage
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.tables.group_members import ProducerTable
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RemotingError, RequestRefused
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields, to_ext_fields
from sprocketmq.protocol.headers.send import (
    ReplyMessageRequestHeader,
    SendMessageRequestHeader,
    SendMessageRequestHeaderV2,
    SendMessageResponseHeader,
)
from sprocketmq.protocol.record.hosts import host_text
from sprocketmq.protocol.record.ids import offset_message_id
from sprocketmq.protocol.record.properties import (
    MSG_REGION,
    PUSH_REPLY_TIME,
    REPLY_TO_CLIENT,
    TRACE_ON,
    decode_properties,
    encode_properties,
)
from sprocketmq.protocol.record.sysflag import transaction_type
from sprocketmq.remoting import Connection, ProcessorTable, Reply
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.store import MessageStore

#: How long the requester has to take the reply.
PUSH_SECONDS = 10.0

Sent = SendMessageRequestHeader | SendMessageRequestHeaderV2


class _Outcome(NamedTuple):
    code: int
    remark: str | None


class Replies:
    def __init__(
        self, settings: Settings, store: MessageStore, admission: Callable[[], SendAdmission],
        producers: ProducerTable, stats: Stats, clock: Clock,
    ) -> None:  # fmt: skip
        self._settings = settings
        self._store = store
        self._admission = admission
        self._producers = producers
        self._stats = stats
        self._clock = clock

    def add_to(self, table: ProcessorTable) -> None:
        table.add_slow((RequestCode.SEND_REPLY_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2), self.reply)

    async def reply(self, connection: Connection, request: Command) -> Reply:
        sent = self._sent(request)
        properties = decode_properties(sent.properties or "")
        requester = self._requester(properties)
        message = self._message(connection, request, sent, properties)
        outcome = await self._push(connection, requester, sent, message)
        config = self._settings.current
        header = SendMessageResponseHeader(msg_id="0", queue_id=message.queue_id, queue_offset=0)
        if config.store_reply_message_enable:
            header = self._keep(message) or header
        added = {MSG_REGION: config.region_id, TRACE_ON: "true" if config.trace_on else "false"}
        return request.reply(outcome.code, outcome.remark, ext_fields=to_ext_fields(header) | added)

    def _sent(self, request: Command) -> Sent:
        sent: Sent
        if request.code == RequestCode.SEND_REPLY_MESSAGE:
            sent = from_ext_fields(SendMessageRequestHeader, request.ext_fields)
        else:
            sent = from_ext_fields(SendMessageRequestHeaderV2, request.ext_fields)
        if not request.body or transaction_type(sent.sys_flag):
            raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, "a reply has a body, and is no transaction")
        return sent

    def _requester(self, properties: dict[str, str]) -> Connection:
        """Who asked; where nobody waits for the reply, nothing is made of it."""
        client_id = properties.get(REPLY_TO_CLIENT)
        if client_id is None:
            remark = "the reply does not say to whom: REPLY_TO_CLIENT is missing"
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
        requester = self._producers.find(client_id)
        if requester is None:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"client {client_id} is not connected to this broker")
        return requester

    def _message(
        self, connection: Connection, request: Command, sent: Sent, properties: dict[str, str]
    ) -> BrokerMessage:
        admission = self._admission().admit(connection, request, sent)
        if admission.takes is not None:
            raise RequestRefused(ResponseCode.NO_PERMISSION, f"{sent.topic} is static, and takes no replies")
        queue_id = sent.queue_id
        if not 0 <= queue_id < admission.queues:
            queue_id = self._admission().choose_queue(sent, admission.queues)
        return BrokerMessage(
            topic=sent.topic,
            queue_id=queue_id,
            body=bytes(request.body),
            properties=properties,
            born_timestamp=sent.born_timestamp,
            born_host=connection.peer.packed,
            flag=sent.flag,
            sys_flag=sent.sys_flag,
            reconsume_times=sent.reconsume_times or 0,
        )

    async def _push(
        self, connection: Connection, requester: Connection, sent: Sent, message: BrokerMessage
    ) -> _Outcome:
        """Hand the reply to the client that asked."""
        client_id = message.properties[REPLY_TO_CLIENT]
        now = self._clock.now_ms()
        message.properties[PUSH_REPLY_TIME] = str(now)
        header = ReplyMessageRequestHeader(
            producer_group=sent.producer_group,
            topic=sent.topic,
            default_topic=sent.default_topic,
            default_topic_queue_nums=sent.default_topic_queue_nums,
            queue_id=message.queue_id,
            sys_flag=sent.sys_flag,
            born_timestamp=sent.born_timestamp,
            flag=sent.flag,
            properties=encode_properties(message.properties),
            reconsume_times=message.reconsume_times,
            unit_mode=bool(sent.unit_mode),
            born_host=str(connection.peer),
            store_host=host_text(self._store.appender.store_host),
            store_timestamp=now,
        )
        push = Command(RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, ext_fields=to_ext_fields(header), body=message.body)
        try:
            answer = await requester.call(push, PUSH_SECONDS)
        except RemotingError as error:
            return _Outcome(ResponseCode.SYSTEM_ERROR, f"client {client_id} did not take the reply: {error}")
        if answer.code != ResponseCode.SUCCESS:
            return _Outcome(ResponseCode.SYSTEM_ERROR, f"client {client_id} refused the reply: {answer.remark}")
        return _Outcome(ResponseCode.SUCCESS, None)

    def _keep(self, message: BrokerMessage) -> SendMessageResponseHeader | None:
        result = message.put_to(self._store)
        if not result.ok:
            return None
        self._stats.put(message.topic, message.queue_id, 1, result.size)
        return SendMessageResponseHeader(
            msg_id=offset_message_id(self._store.appender.store_host, result.commit_offset),
            queue_id=message.queue_id,
            queue_offset=result.queue_offset,
        )
