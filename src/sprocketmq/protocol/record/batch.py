# cython: annotation_typing=False
"""The body of SEND_BATCH_MESSAGE: the messages of one topic, back to back.

entry := size:i32 magic:i32 crc:i32 flag:i32 body_length:i32 body properties_length:i16 properties
size counts the whole entry; magic and crc are 0 and nobody reads them
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.errors import BodyError

if not cython.compiled:
    from sprocketmq.hot.octets import Octets, cut, i16, i32

    ENTRY_BYTES = 22  # an entry with nothing in its body and properties


def decode_batch(body: bytes) -> list[tuple[int, bytes, bytes]]:
    """(flag, body, properties) of every message. Raises BodyError where the parts do not add up."""
    messages: list[tuple[int, bytes, bytes]] = []
    p = body  # compiled, a pointer without bounds: `check_entry` goes before every read
    at, end = 0, len(body)
    while at < end:
        body_end = check_entry(p, at, end)
        properties_end = body_end + 2 + i16(p, body_end)
        messages.append((i32(p, at + 12), cut(p, at + 20, body_end), cut(p, body_end + 2, properties_end)))
        at = properties_end
    return messages


def check_entry(p: Octets, at: int, end: int) -> int:
    """Where the body of the entry at `at` ends, when the entry is whole."""
    if end - at < ENTRY_BYTES:
        raise BodyError(f"batch entry at {at} is cut off")
    size = i32(p, at)
    body_length = i32(p, at + 16)
    if size < ENTRY_BYTES or size > end - at or body_length < 0 or body_length > size - ENTRY_BYTES:
        raise BodyError(f"batch entry at {at}: size {size}, body of {body_length} bytes")
    body_end = at + 20 + body_length
    if i16(p, body_end) < 0 or body_end + 2 + i16(p, body_end) != at + size:
        raise BodyError(f"batch entry at {at}: its parts do not add up to {size} bytes")
    return body_end
