"""Questions that only a client can answer: the broker passes them on, and the answers back.

running info    a consumer's inside
consume         hand one stored message to a consumer now, and hear how that went
status          which offsets the members of a group hold
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from sprocketmq.auth.guard import check_stored
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.tables.group_members import Client, ConsumerTable
from sprocketmq.broker.tables.groups import GroupTable
from sprocketmq.broker.tables.topics import TopicTable
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import BodyError, RemotingError, RequestRefused, RequestTimeout
from sprocketmq.logs import Events
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.offsets import GetConsumerStatusBody
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields, to_ext_fields
from sprocketmq.protocol.headers.client import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetConsumerStatusRequestHeader,
)
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.record.ids import decode_offset_message_id
from sprocketmq.protocol.record.record import Record
from sprocketmq.remoting import Connection, Handler, ProcessorTable, Reply
from sprocketmq.store.store import MessageStore

events = Events("sprocketmq.broker.admin.client_relay")

RELAY_SECONDS = 10.0
STATUS_SECONDS = 5.0


class RelayProcessors:
    def __init__(
        self, settings: Settings, store: MessageStore, topics: TopicTable, groups: GroupTable,
        consumers: ConsumerTable,
    ) -> None:  # fmt: skip
        self._settings = settings
        self._store = store
        self._topics = topics
        self._groups = groups
        self._consumers = consumers

    def add_to(self, table: ProcessorTable) -> None:
        table.add_slow(RequestCode.GET_CONSUMER_RUNNING_INFO, self.running_info)
        table.add_slow(RequestCode.CONSUME_MESSAGE_DIRECTLY, self.consume)
        table.guard([RequestCode.CONSUME_MESSAGE_DIRECTLY], self._of_its_topic)
        table.add_slow(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, self.status)

    async def running_info(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(GetConsumerRunningInfoRequestHeader, request.ext_fields)
        client = self._client(header.consumer_group, header.client_id)
        return await self._relay(client, request, Command(request.code, ext_fields=to_ext_fields(header)))

    async def consume(self, connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(ConsumeMessageDirectlyResultRequestHeader, request.ext_fields)
        client = self._client(header.consumer_group, header.client_id)
        commit_offset = self._message(header.msg_id).commit_offset
        record = bytes(self._store.reader.bytes_at(commit_offset) or b"")
        events.info(
            "message consumed directly", group=header.consumer_group, client=client.client_id, message=header.msg_id,
            peer=connection.peer,
        )  # fmt: skip
        ext_fields = to_ext_fields(self._completed(header))
        return await self._relay(client, request, Command(request.code, ext_fields=ext_fields, body=record))

    def _of_its_topic(self, handler: Handler) -> Handler:
        """`handler`, for those who may read the topic of the message; asked before its task begins."""

        def checked(connection: Connection, request: Command) -> Reply:
            if connection.session is not None:
                header = from_ext_fields(ConsumeMessageDirectlyResultRequestHeader, request.ext_fields)
                check_stored(connection, request, self._message(header.msg_id).topic)
            return handler(connection, request)

        return checked

    def _completed(
        self, header: ConsumeMessageDirectlyResultRequestHeader
    ) -> ConsumeMessageDirectlyResultRequestHeader:
        """The header with what the broker knows."""
        topic = self._topics.get(header.topic or "")
        group = self._groups.configs.get(header.consumer_group)
        return replace(
            header,
            broker_name=self._settings.current.broker_name,
            topic_sys_flag=None if topic is None else topic.topic_sys_flag,
            group_sys_flag=None if group is None else group.group_sys_flag,
        )

    def _message(self, message_id: str | None) -> Record:
        _host, commit_offset = decode_offset_message_id(message_id or "")
        message = self._store.reader.message_at(commit_offset)
        if message is None:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"no message {message_id}")
        return message

    def _client(self, group: str, client_id: str | None) -> Client:
        """The client of that id; any of the group when none is asked for."""
        online = self._consumers.get(group)
        members = [] if online is None else list(online.members.values())
        found = [client for client in members if client_id in (None, "", client.client_id)]
        if not found:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"consumer {client_id} of group {group} is not online")
        return found[0]

    async def _relay(self, client: Client, request: Command, question: Command) -> Reply:
        try:
            answer = await client.connection.call(question, RELAY_SECONDS)
        except RequestTimeout:
            remark = f"consumer {client.client_id} did not answer within {RELAY_SECONDS:.0f} s"
            raise RequestRefused(ResponseCode.CONSUME_MSG_TIMEOUT, remark) from None
        except RemotingError as error:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, str(error)) from None
        return request.reply(answer.code, answer.remark, ext_fields=answer.ext_fields, body=bytes(answer.body))

    # -- status -------------------------------------------------------------------------------------------------------

    async def status(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(GetConsumerStatusRequestHeader, request.ext_fields)
        online = self._consumers.get(header.group)
        members = [] if online is None else list(online.members.values())
        asked = [client for client in members if header.client_addr in (None, "", client.client_id)]
        if not asked:
            raise RequestRefused(ResponseCode.CONSUMER_NOT_ONLINE, f"no consumer of group {header.group} is online")
        answers = await asyncio.gather(*(self._status_of(client, header) for client in asked))
        table = {client.client_id: held for client, held in zip(asked, answers, strict=True) if held is not None}
        return request.reply(body=codec.encode(GetConsumerStatusBody(consumer_table=table)))

    async def _status_of(
        self, client: Client, header: GetConsumerStatusRequestHeader
    ) -> dict[MessageQueue, int] | None:
        """What the client holds; None when it does not say."""
        asked = to_ext_fields(GetConsumerStatusRequestHeader(topic=header.topic, group=header.group))
        question = Command(RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, ext_fields=asked)
        try:
            answer = await client.connection.call(question, STATUS_SECONDS)
            if answer.code != ResponseCode.SUCCESS or not answer.body:
                return None
            return dict(codec.decode(GetConsumerStatusBody, bytes(answer.body)).message_queue_table)
        except (RemotingError, BodyError) as error:
            events.warning("consumer does not tell its offsets", client=client.client_id, reason=error)
            return None
