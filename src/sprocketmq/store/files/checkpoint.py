"""The checkpoint: up to which store time each kind of file was safely on disk.

checkpoint := physic_msg_timestamp:i64 logics_msg_timestamp:i64 index_msg_timestamp:i64
              master_flushed_offset:i64 confirm_offset:i64, zeros up to 4096 bytes

Recovery after a crash begins where everything older than `recovery_timestamp` was flushed.
"""

from __future__ import annotations

import logging
import struct
from dataclasses import dataclass
from pathlib import Path

from sprocketmq.store.files.files import Files

_log = logging.getLogger("sprocketmq.store.files.checkpoint")

CHECKPOINT_SIZE = 4096
_FIELDS = struct.Struct(">qqqqq")
_TIMESTAMPS = struct.Struct(">qqq")
_LAST_MS = 1 << 45  # the year 3084: no clock says more
_MARGIN_MS = 3000  # a store timestamp may be that much older than the flush that covered it


@dataclass(slots=True)
class Checkpoint:
    physic_msg_timestamp: int = 0
    logics_msg_timestamp: int = 0
    index_msg_timestamp: int = 0
    master_flushed_offset: int = 0
    confirm_offset: int = 0

    @property
    def flushed_timestamp(self) -> int:
        """Messages stored up to here are on disk, and so are their queue entries."""
        return min(self.physic_msg_timestamp, self.logics_msg_timestamp)

    @property
    def recovery_timestamp(self) -> int:
        return max(0, self.flushed_timestamp - _MARGIN_MS)

    def encode(self) -> bytes:
        fields = _FIELDS.pack(
            self.physic_msg_timestamp,
            self.logics_msg_timestamp,
            self.index_msg_timestamp,
            self.master_flushed_offset,
            self.confirm_offset,
        )
        return fields.ljust(CHECKPOINT_SIZE, b"\0")


def decode_checkpoint(data: bytes) -> Checkpoint:
    """A short or absurd checkpoint says nothing is safe: recovery then begins at the first file."""
    if len(data) < _FIELDS.size:
        return Checkpoint()
    timestamps = written_timestamps(data)
    is_believed = min(timestamps) >= 0 and max(timestamps) < _LAST_MS
    return Checkpoint(*_FIELDS.unpack_from(data)) if is_believed else Checkpoint()


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
