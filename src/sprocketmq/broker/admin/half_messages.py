"""Half messages that were given up after too many checks: an operator may have one checked again."""

from __future__ import annotations

from sprocketmq.auth.guard import check_stored
from sprocketmq.broker.transaction.check_back import TransactionChecks
from sprocketmq.broker.transaction.half_messages import OpenHalves
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.logs import Events
from sprocketmq.protocol import names
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields
from sprocketmq.protocol.headers.transaction import ResumeCheckHalfMessageRequestHeader
from sprocketmq.protocol.record.ids import decode_offset_message_id
from sprocketmq.protocol.record.properties import (
    REAL_TOPIC,
    TRAN_PREPARED_QUEUE_OFFSET,
    TRANSACTION_CHECK_TIMES,
    decode_properties,
    encode_properties,
)
from sprocketmq.protocol.record.record import Record
from sprocketmq.remoting import Connection, ProcessorTable, Reply
from sprocketmq.store.log.append import PutStatus
from sprocketmq.store.store import MessageStore

events = Events("sprocketmq.broker.admin.half_messages")


class HalfMessageProcessors:
    def __init__(self, store: MessageStore, halves: OpenHalves, checks: TransactionChecks) -> None:
        self._store = store
        self._halves = halves
        self._checks = checks

    def add_to(self, table: ProcessorTable) -> None:
        table.add(RequestCode.RESUME_CHECK_HALF_MESSAGE, self.resume)

    def resume(self, connection: Connection, request: Command) -> Reply:
        """Put the message back among the half messages, where a line of checks begins anew with it."""
        header = from_ext_fields(ResumeCheckHalfMessageRequestHeader, request.ext_fields)
        record = self._given_up(header.msg_id)
        properties = decode_properties(record.properties) | {TRANSACTION_CHECK_TIMES: "0"}
        check_stored(connection, request, properties.get(REAL_TOPIC, ""))
        properties.pop(TRAN_PREPARED_QUEUE_OFFSET, None)
        result = self._store.put(
            names.TRANSACTION_HALF_TOPIC, 0, record.flag, record.sys_flag, record.body,
            encode_properties(properties).encode(), record.born_timestamp, record.born_host, record.reconsume_times, 0,
        )  # fmt: skip
        if result.status != PutStatus.PUT_OK:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"message {header.msg_id} could not be stored again")
        self._halves.opened(result.queue_offset, result.commit_offset)
        self._checks.expect(result.queue_offset, 0)
        events.info("half message is checked again", message=header.msg_id, peer=connection.peer)
        return request.reply()

    def _given_up(self, message_id: str | None) -> Record:
        _host, commit_offset = decode_offset_message_id(message_id or "")
        record = self._store.reader.message_at(commit_offset)
        if record is None or record.topic != names.TRANSACTION_CHECK_MAX_TOPIC:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"{message_id} is no half message that was given up")
        return record
