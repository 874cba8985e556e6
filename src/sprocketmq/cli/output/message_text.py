"""A received message as a row for people and programs."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any

from sprocketmq.cli.output.tables import moment

if TYPE_CHECKING:
    from sprocketmq.client.received import ReceivedMessage


def message_row(message: ReceivedMessage) -> dict[str, Any]:
    """The body is text where it is UTF-8, and `base64:` and the bytes otherwise."""
    return {
        "topic": message.topic,
        "broker": message.broker_name,
        "queue": message.queue_id,
        "offset": message.queue_offset,
        "id": message.message_id,
        "offset id": message.offset_message_id,
        "tag": message.tag,
        "keys": list(message.keys),
        "stored": moment(message.record.store_timestamp),
        "tries": message.reconsume_times,
        "properties": dict(message.properties),
        "body": body_text(message.body),
    }


def body_text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return "base64:" + b64encode(body).decode()
