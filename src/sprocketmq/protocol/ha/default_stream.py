"""The default HA stream: what a master and its slave say to each other when no controller is there.

    slave  -> master    report := log_end:i64             "my log ends here"; the first also asks where to begin
    master -> slave     frame  := offset:i64 size:i32 body     raw bytes of the log from `offset`; without a body it
                                                               is a heartbeat with the next offset

There is no handshake and no magic. A body is a slice of one log file: it may begin and end inside a record, and holds
the blank at the file's end.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from sprocketmq.protocol.ha.stream_buffer import StreamBuffer, check_body_size, check_not_below

_REPORT = struct.Struct(">q")
_HEADER = struct.Struct(">qi")
HEADER_BYTES = _HEADER.size
REPORT_BYTES = _REPORT.size


class LogFrame(NamedTuple):
    """Log bytes from `offset` on."""

    offset: int
    body: bytes


def encode_report(log_end: int) -> bytes:
    return _REPORT.pack(log_end)


def encode_frame_header(offset: int, size: int) -> bytes:
    """What comes before a body, which its sender need not copy."""
    return _HEADER.pack(offset, size)


class ReportDecoder:
    """The master's ear."""

    def __init__(self) -> None:
        self._buffer = StreamBuffer()

    def feed(self, data: bytes) -> list[int]:
        return self._buffer.feed(data, _next_report)


def _next_report(data: bytearray) -> tuple[int, int] | None:
    if len(data) < REPORT_BYTES:
        return None
    return check_not_below(_REPORT.unpack_from(data)[0], "the reported log end"), REPORT_BYTES


class TransferDecoder:
    """The slave's ear."""

    def __init__(self) -> None:
        self._buffer = StreamBuffer()

    def feed(self, data: bytes) -> list[LogFrame]:
        return self._buffer.feed(data, _next_frame)


def _next_frame(data: bytearray) -> tuple[LogFrame, int] | None:
    if len(data) < HEADER_BYTES:
        return None
    offset, size = _HEADER.unpack_from(data)
    end = HEADER_BYTES + check_body_size(size)
    check_not_below(offset, "the offset of a frame")
    return (LogFrame(offset, bytes(memoryview(data)[HEADER_BYTES:end])), end) if len(data) >= end else None
