"""The checkpoint: up to which store time each kind of file was safely on disk.

checkpoint := times master_flushed_offset:i64 confirm_offset:i64, zeros, and in the last 40 of 4096 bytes places
times      := physic_msg_timestamp:i64 logics_msg_timestamp:i64 index_msg_timestamp:i64
places     := times flushed_offset:i64 index_offset:i64

Recovery after a crash begins where everything older than `recovery_timestamp` was flushed.

Messages of one millisecond have one store time, and so have all that come while a clock that was set back stands still:
some of them may be safe, and those behind them not. So the places are noted too, up to which log and index files are
safe. RocketMQ neither writes nor clears them: they count while the times beside them are those of the checkpoint.
"""

from __future__ import annotations

import logging
import struct
from dataclasses import dataclass, replace
from pathlib import Path

from sprocketmq.store.files.files import Files

_log = logging.getLogger("sprocketmq.store.files.checkpoint")

CHECKPOINT_SIZE = 4096
_FIELDS = struct.Struct(">qqqqq")
_TIMESTAMPS = struct.Struct(">qqq")
_PLACES = struct.Struct(">qqqqq")
PLACES_AT = CHECKPOINT_SIZE - _PLACES.size
_LAST_MS = 1 << 45  # the year 3084: no clock says more
_UNKNOWN = -1
_MARGIN_MS = 3000  # a store timestamp may be that much older than the flush that covered it


@dataclass(slots=True)
class Checkpoint:
    physic_msg_timestamp: int = 0
    logics_msg_timestamp: int = 0
    index_msg_timestamp: int = 0
    master_flushed_offset: int = 0
    confirm_offset: int = 0
    #: Where the safe part of the log ends, and the last record of the safe index files; None where nobody noted it.
    flushed_offset: int | None = None
    index_offset: int | None = None

    @property
    def flushed_timestamp(self) -> int:
        """Messages stored up to here are on disk, and so are their queue entries."""
        return min(self.physic_msg_timestamp, self.logics_msg_timestamp)

    @property
    def recovery_timestamp(self) -> int:
        return max(0, self.flushed_timestamp - _MARGIN_MS)

    def vouches_for(self, end_offset: int, store_timestamp: int) -> bool:
        """Whether the record that ends there was safe, with all before it."""
        if self.flushed_offset is None:
            return store_timestamp < self.flushed_timestamp
        return end_offset <= self.flushed_offset and store_timestamp <= self.flushed_timestamp

    def vouches_for_index(self, end_offset: int, end_timestamp: int) -> bool:
        """Whether an index file whose last record begins there was safe."""
        known = self.index_offset is None or end_offset <= self.index_offset
        return known and end_timestamp <= self.index_msg_timestamp

    def lower(self, end_offset: int, store_timestamp: int) -> bool:
        """The log ends here, and what comes next is not safe yet; whether that changes anything."""
        before = replace(self)
        self.physic_msg_timestamp = min(self.physic_msg_timestamp, store_timestamp)
        self.logics_msg_timestamp = min(self.logics_msg_timestamp, store_timestamp)
        self.index_msg_timestamp = min(self.index_msg_timestamp, store_timestamp)
        self.confirm_offset = min(self.confirm_offset, end_offset)
        if self.flushed_offset is not None:
            self.flushed_offset = min(self.flushed_offset, end_offset)
        if self.index_offset is not None:
            self.index_offset = min(self.index_offset, end_offset)
        return self != before

    def encode(self) -> bytes:
        times = (self.physic_msg_timestamp, self.logics_msg_timestamp, self.index_msg_timestamp)
        fields = _FIELDS.pack(*times, self.master_flushed_offset, self.confirm_offset)
        if self.flushed_offset is None and self.index_offset is None:
            return fields.ljust(CHECKPOINT_SIZE, b"\0")  # as RocketMQ's
        places = (_UNKNOWN if each is None else each for each in (self.flushed_offset, self.index_offset))
        return fields.ljust(PLACES_AT, b"\0") + _PLACES.pack(*times, *places)


def decode_checkpoint(data: bytes) -> Checkpoint:
    """A short or absurd checkpoint says nothing is safe: recovery then begins at the first file."""
    if len(data) < _FIELDS.size:
        return Checkpoint()
    timestamps = written_timestamps(data)
    is_believed = min(timestamps) >= 0 and max(timestamps) < _LAST_MS
    if not is_believed:
        return Checkpoint()
    flushed, index = _places(data)
    return replace(Checkpoint(*_FIELDS.unpack_from(data)), flushed_offset=flushed, index_offset=index)


def _places(data: bytes) -> tuple[int | None, int | None]:
    """Where log and index were safe at these times, as far as that was noted."""
    if len(data) < CHECKPOINT_SIZE:
        return None, None
    *times, flushed, index = _PLACES.unpack_from(data, PLACES_AT)
    if tuple(times) != written_timestamps(data) or not any(data[PLACES_AT:]):
        return None, None
    return None if flushed < 0 else flushed, None if index < 0 else index


def written_timestamps(data: bytes) -> tuple[int, int, int]:
    """Of log, queues and index, as they stand there, however absurd."""
    physic, logics, index = _TIMESTAMPS.unpack_from(data)
    return physic, logics, index


def read_checkpoint(files: Files, path: Path) -> Checkpoint:
    if not files.exists(path):
        return Checkpoint()
    data = files.read_bytes(path)
    checkpoint = decode_checkpoint(data)
    if checkpoint == Checkpoint() and (any(data) or len(data) < _FIELDS.size):
        _log.warning("%s, %d bytes, is no checkpoint: nothing is taken for safe", path, len(data))
    return checkpoint
