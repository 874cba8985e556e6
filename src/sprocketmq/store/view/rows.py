"""Messages and stores as plain JSON values, under RocketMQ's names."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from typing import Any, Literal

from sprocketmq.errors import BodyError, StoreCorrupt
from sprocketmq.protocol.record.compression import decompress
from sprocketmq.protocol.record.properties import KEYS, TAGS, UNIQUE_KEY
from sprocketmq.protocol.record.record import MAGIC_V1, MAGIC_V2, MAX_TOPIC_V1_BYTES, Record
from sprocketmq.protocol.record.record_json import record_fields
from sprocketmq.protocol.record.sysflag import compression_type
from sprocketmq.store.dispatch.record_dispatch import properties_of
from sprocketmq.store.view import configs
from sprocketmq.store.view.index import IndexBuilder, IndexView
from sprocketmq.store.view.log import Damage
from sprocketmq.store.view.scan_select import Unreadable
from sprocketmq.store.view.source import ByteSource
from sprocketmq.store.view.store import StoreView

BodyForm = Literal["text", "base64", "none"]


def message_row(record: Record, queue_offset: int, tags_code: int, body_form: BodyForm = "none") -> dict[str, Any]:
    """One message: its place, its fields, and its body in the form asked for."""
    properties = properties_of(record)
    body = plain_body(record)
    return {
        **record_fields(record),
        "queueOffset": queue_offset,
        "tagsCode": tags_code,
        "uniqKey": properties.get(UNIQUE_KEY),
        "keys": properties.get(KEYS),
        "tags": properties.get(TAGS),
        "bodyLength": len(body),
        "bodyMd5": _md5(body),
        "properties": properties,
        "storedBodyLength": len(record.body),
        "storedBodyMd5": _md5(record.body),
        "magic": f"{_magic(record) & 0xFFFFFFFF:08x}",
        **_body_fields(body, body_form),
    }


def plain_body(record: Record) -> bytes:
    """The body as it was sent; as it is stored, when it does not decompress."""
    try:
        kind = compression_type(record.sys_flag)
        return record.body if kind is None else decompress(record.body, kind)
    except BodyError:
        return record.body


def unreadable_row(found: Unreadable) -> dict[str, Any]:
    """A queue entry whose message is damaged: what the entry says, and the reason."""
    return {
        "topic": found.topic,
        "queueId": found.queue_id,
        "queueOffset": found.queue_offset,
        "physicalOffset": found.entry.commit_offset,
        "size": found.entry.size,
        "tagsCode": found.entry.tags_code,
        "error": str(found.error),
    }


def damage_row(found: Damage) -> dict[str, Any]:
    """Bytes of the log that hold no whole record."""
    return {"physicalOffset": found.begin, "size": found.end - found.begin, "error": found.reason, "file": found.path}


def _body_fields(body: bytes, form: BodyForm) -> dict[str, str]:
    """As text where the body is UTF-8, else as base64; `bodyEncoding` says which it is."""
    if form == "none":
        return {}
    if form == "text":
        try:
            return {"bodyEncoding": "text", "body": body.decode()}
        except UnicodeDecodeError:
            pass
    return {"bodyEncoding": "base64", "body": base64.b64encode(body).decode()}


def store_row(view: StoreView) -> dict[str, Any]:
    """What is there, as one object."""
    return {
        "commitLog": {"minOffset": view.log_begin, "maxOffset": view.log_end},
        "commitLogFileSize": view.log.file_size,
        "consumeQueueFileSize": view.queue_file_size,
        "indexHashSlots": view.index_shape.slots,
        "indexMaxEntries": view.index_shape.capacity,
        "abortFilePresent": view.crashed,
        "checkpoint": {
            "physicMsgTimestamp": view.checkpoint.physic_msg_timestamp,
            "logicsMsgTimestamp": view.checkpoint.logics_msg_timestamp,
            "indexMsgTimestamp": view.checkpoint.index_msg_timestamp,
        },
        "topics": topic_rows(view),
        "consumerOffsets": _table(configs.consumer_offsets, view),
        "delayOffsets": _table(configs.delay_offsets, view),
        "indexFilesAfterOpen": [index_row(index) for index in view.indexes],
    }


def _table(read: Callable[[ByteSource], Any], view: StoreView) -> Any:
    """None for a table that is not there or cannot be read; `verify` tells them apart."""
    try:
        return read(view.source)
    except StoreCorrupt:
        return None


def topic_rows(view: StoreView) -> dict[str, dict[str, dict[str, int]]]:
    topics: dict[str, dict[str, dict[str, int]]] = {}
    for (topic, queue_id), queue in sorted(view.queues.items()):
        bounds = {"minOffset": queue.min_offset, "maxOffset": queue.max_offset}
        topics.setdefault(topic, {})[str(queue_id)] = bounds
    return topics


def index_row(index: IndexView | IndexBuilder) -> dict[str, Any]:
    header = index.header
    return {
        "file": index.name,
        "beginTimestamp": header.begin_timestamp,
        "endTimestamp": header.end_timestamp,
        "beginPhyOffset": header.begin_offset,
        "endPhyOffset": header.end_offset,
        "hashSlotCount": header.used_slots,
        "indexCount": header.index_count,
    }


def _magic(record: Record) -> int:
    """Only a topic too long for one length byte is written in the second layout."""
    return MAGIC_V2 if len(record.topic.encode()) > MAX_TOPIC_V1_BYTES else MAGIC_V1


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()
