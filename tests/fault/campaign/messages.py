"""Messages that can be told whole from torn: everything in them follows from their uid."""

from __future__ import annotations

from zlib import crc32

from sprocketmq.protocol.record.properties import decode_properties
from sprocketmq.protocol.record.record import Record


def body_of(uid: str) -> bytes:
    return f"{uid}|".encode() + b"%08x" % crc32(uid.encode()) * (1 + crc32(uid.encode()) % 20)


def properties_of(uid: str) -> dict[str, str]:
    """Now and then they are longer than a page."""
    length = 1 + crc32(uid.encode()) % 97
    return {"uid": uid, "long": f"{uid}/" * (length if length < 90 else length * 10)}


def uid_of(record: Record) -> str:
    """The uid of a whole message; of any other a text that is none."""
    uid = record.body.partition(b"|")[0].decode("utf-8", "replace")
    properties = decode_properties(record.properties)
    kept = {key: properties.get(key) for key in ("uid", "long")}
    if record.body != body_of(uid) or kept != properties_of(uid):
        return f"torn {uid} at {record.commit_offset}"
    return uid
