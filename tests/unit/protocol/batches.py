"""Batch bodies as producers write them, see `protocol/record/batch.py`."""

from __future__ import annotations

import struct
from collections.abc import Iterable


def encode_batch(messages: Iterable[tuple[int, bytes, bytes]]) -> bytes:
    """The body that carries these (flag, body, properties)."""
    return b"".join(
        struct.pack(">iiiii", 22 + len(body) + len(properties), 0, 0, flag, len(body))
        + body
        + struct.pack(">h", len(properties))
        + properties
        for flag, body, properties in messages
    )
