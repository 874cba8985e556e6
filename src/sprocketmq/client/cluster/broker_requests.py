"""Requests that a broker makes of its clients, on the connection the client opened.

39   CHECK_TRANSACTION_STATE        what became of a half message?          oneway
40   NOTIFY_CONSUMER_IDS_CHANGED    a group has gained or lost a member     oneway
220  RESET_CONSUMER_CLIENT_OFFSET   consume from these offsets              oneway
221  GET_CONSUMER_STATUS_FROM_CLIENT
307  GET_CONSUMER_RUNNING_INFO
309  CONSUME_MESSAGE_DIRECTLY       an operator hands one message to a consumer
326  PUSH_REPLY_MESSAGE_TO_CLIENT   the reply to a request of ours
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from sprocketmq.client.cluster.replies import PendingReplies
from sprocketmq.client.cluster.stacks import stacks
from sprocketmq.client.received import ReceivedMessage, split_records
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol import bodies, headers
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields
from sprocketmq.protocol.record.properties import PRODUCER_GROUP
from sprocketmq.remoting.connection import Connection
from sprocketmq.remoting.handlers import ProcessorTable

if TYPE_CHECKING:
    from sprocketmq.client.cluster.instance import ClientInstance
    from sprocketmq.client.cluster.member_protocols import ConsumerMember

log = logging.getLogger("sprocketmq.client.broker_requests")


class PushedRequests:
    """Finds the member a request is for, and answers."""

    def __init__(self, instance: ClientInstance) -> None:
        self._instance = instance
        self.replies = PendingReplies()

    def register(self, table: ProcessorTable) -> None:
        table.add(RequestCode.CHECK_TRANSACTION_STATE, self.check_transaction)
        table.add(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, self.group_changed)
        table.add_slow(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, self.reset_offsets)
        table.add(RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, self.consumer_status)
        table.add(RequestCode.GET_CONSUMER_RUNNING_INFO, self.running_info)
        table.add_slow(RequestCode.CONSUME_MESSAGE_DIRECTLY, self.consume_directly)
        table.add(RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, self.reply_arrived)

    def check_transaction(self, connection: Connection, request: Command) -> None:
        message = self._message(request)
        group = message.properties.get(PRODUCER_GROUP, "")
        producer = self._instance.producers.get(group)
        if producer is None:
            log.warning("transaction check for a group that is not here group=%s", group)
            return
        producer.check_transaction(str(connection.peer), request, message)

    def group_changed(self, _connection: Connection, request: Command) -> None:
        header = from_ext_fields(headers.client.NotifyConsumerIdsChangedRequestHeader, request.ext_fields)
        consumer = self._instance.consumers.get(header.consumer_group)
        if consumer is not None:
            consumer.rebalance_soon()

    async def reset_offsets(self, _connection: Connection, request: Command) -> None:
        header = from_ext_fields(headers.offsets.ResetOffsetRequestHeader, request.ext_fields)
        offsets = codec.decode(bodies.offsets.ResetOffsetBody, request.body).offset_table
        await self._consumer(header.group).reset_offsets(header.topic, offsets)

    def consumer_status(self, _connection: Connection, request: Command) -> Command:
        header = from_ext_fields(headers.client.GetConsumerStatusRequestHeader, request.ext_fields)
        table = self._consumer(header.group).consumed_offsets(header.topic)
        return request.reply(body=codec.encode(bodies.offsets.GetConsumerStatusBody(message_queue_table=dict(table))))

    def running_info(self, _connection: Connection, request: Command) -> Command:
        header = from_ext_fields(headers.client.GetConsumerRunningInfoRequestHeader, request.ext_fields)
        found = self._consumer(header.consumer_group).running_info()
        return request.reply(body=codec.encode(replace(found, jstack=stacks()) if header.jstack_enable else found))

    async def consume_directly(self, _connection: Connection, request: Command) -> Command:
        header = from_ext_fields(headers.client.ConsumeMessageDirectlyResultRequestHeader, request.ext_fields)
        message = self._message(request, header.broker_name or "")
        result = await self._consumer(header.consumer_group).consume_directly(message)
        return request.reply(body=codec.encode(result))

    def reply_arrived(self, _connection: Connection, request: Command) -> Command:
        if not self.replies.resolve(request):
            log.info("a reply came for a request that waits no more")
        return request.reply()

    def _consumer(self, group: str) -> ConsumerMember:
        consumer = self._instance.consumers.get(group)
        if consumer is None:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"no consumer of group {group} is here")
        return consumer

    @staticmethod
    def _message(request: Command, broker_name: str = "") -> ReceivedMessage:
        messages = split_records(request.body, broker_name)
        if len(messages) != 1:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"{len(messages)} messages where one was expected")
        return messages[0]
