"""Looking messages up: QUERY_MESSAGE by key or unique key, VIEW_MESSAGE_BY_ID by the offset in its id."""

from __future__ import annotations

from sprocketmq.auth.guard import check_stored
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields, to_ext_fields
from sprocketmq.protocol.headers.query import (
    QueryMessageRequestHeader,
    QueryMessageResponseHeader,
    ViewMessageRequestHeader,
)
from sprocketmq.protocol.names import RESTING_TOPICS, topic_fault
from sprocketmq.protocol.record.properties import REAL_TOPIC, decode_properties
from sprocketmq.protocol.record.record import Record
from sprocketmq.protocol.signing import UNIQUE_KEY_QUERY
from sprocketmq.remoting import Connection, ProcessorTable, Reply
from sprocketmq.store.store import MessageStore

#: A slave of ours compares logs, and messages of deleted topics are in the log too.
RAW_VIEW = "sprocketRaw"


class QueryProcessors:
    def __init__(self, store: MessageStore) -> None:
        self._store = store

    def add_to(self, table: ProcessorTable) -> None:
        table.add(RequestCode.QUERY_MESSAGE, self.query)
        table.add(RequestCode.VIEW_MESSAGE_BY_ID, self.view)

    def query(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(QueryMessageRequestHeader, request.ext_fields)
        limit = header.max_num
        if (request.ext_fields or {}).get(UNIQUE_KEY_QUERY) == "true":
            limit = self._store.config.default_query_max_num
        if topic_fault(header.topic) is not None:
            raise RequestRefused(ResponseCode.QUERY_NOT_FOUND, "no message has this key")
        found = self._store.reader.query(header.topic, header.key, limit, header.begin_timestamp, header.end_timestamp)
        ext_fields = to_ext_fields(self._last_update())
        if not found:
            return request.reply(ResponseCode.QUERY_NOT_FOUND, "no message has this key", ext_fields=ext_fields)
        records = [self._store.reader.bytes_at(record.commit_offset) for record in found]
        body = b"".join([record for record in records if record is not None])
        return request.reply(ext_fields=ext_fields, body=body)

    def _last_update(self) -> QueryMessageResponseHeader:
        index = self._store.index
        cursor = None if index is None else index.cursor
        return QueryMessageResponseHeader(
            index_last_update_timestamp=0 if cursor is None else cursor.end_timestamp,
            index_last_update_phyoffset=0 if cursor is None else cursor.end_offset,
        )

    def view(self, connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(ViewMessageRequestHeader, request.ext_fields)
        reader = self._store.reader
        of_log = (request.ext_fields or {}).get(RAW_VIEW) == "true" and _may_read_log(connection)
        message = reader.record_at(header.offset) if of_log else reader.message_at(header.offset)
        if message is None:
            remark = f"no message begins at offset {header.offset} of the log"
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
        check_stored(connection, request, _topic_of(message))
        return request.reply(body=bytes(reader.bytes_at(header.offset) or b""))


def _may_read_log(connection: Connection) -> bool:
    """No topic can be asked about first: a record that lies in somebody's body says what its writer likes.

    So where there are accounts it takes a super user, who has proved it: a white list of codes does not open the log.
    """
    session = connection.session
    return session is None or bool(session.may_all and session.is_proven)


def _topic_of(message: Record) -> str:
    """Whose message it is: one that rests is of the topic where it goes."""
    if message.topic not in RESTING_TOPICS:
        return message.topic
    return decode_properties(message.properties).get(REAL_TOPIC, message.topic)
