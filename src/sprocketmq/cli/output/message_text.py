"""A received message as a row for people and programs.

A body that says it is compressed and cannot be inflated is told as it is stored, with the reason: who looks for the
message that stops their consumers must find it.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any

from sprocketmq.cli.output.tables import moment
from sprocketmq.errors import BodyError

if TYPE_CHECKING:
    from sprocketmq.client.received import ReceivedMessage


def message_row(message: ReceivedMessage) -> dict[str, Any]:
    """A body that is not UTF-8 is null, and `body_base64` has it."""
    return {
        "topic": message.topic,
        "broker": message.broker_name,
        "queue": message.queue_id,
        "offset": message.queue_offset,
        "id": message.message_id,
        "offset_id": message.offset_message_id,
        "tag": message.tag,
        "keys": list(message.keys),
        "born": moment(message.record.born_timestamp),
        "stored": moment(message.record.store_timestamp),
        "tries": message.reconsume_times,
        "properties": dict(message.properties),
        **_body_of(message),
    }


def message_record(message: ReceivedMessage) -> dict[str, Any]:
    """The same for a person: one body, and no field that says nothing."""
    row = message_row(message)
    row.pop("body_base64", None)
    return {**row, "body": body_text(body_bytes(message))}


def body_bytes(message: ReceivedMessage) -> bytes:
    try:
        return message.body
    except BodyError:
        return bytes(message.record.body)


def _body_of(message: ReceivedMessage) -> dict[str, str | None]:
    try:
        return body_fields(message.body)
    except BodyError as error:
        stored = b64encode(message.record.body).decode()
        return {"body": None, "body_base64": stored, "unreadable": str(error)}


def body_fields(body: bytes) -> dict[str, str | None]:
    text = _text(body)
    return {"body": text} if text is not None else {"body": None, "body_base64": b64encode(body).decode()}


def body_text(body: bytes) -> str:
    """For a line on a terminal."""
    text = _text(body)
    return text if text is not None else f"<{len(body)} bytes: {b64encode(body).decode()}>"


def _text(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None
