"""The auto-switch HA stream: what a master and its slave say to each other under a controller.

    slave  -> master    handshake := 1:i32 from_last_file:i16 learner:i16 broker_id:i64
                        report    := 2:i32 log_end:i64
    master -> slave     answer    := 1:i32 size:i32 log_end:i64 last_epoch:i32 {epoch:i32 start:i64}*     size counts
                                     the epochs' bytes
                        frame     := 2:i32 size:i32 offset:i64 epoch:i32 epoch_start:i64 confirm:i64 body

A body never crosses the end of a log file, nor the beginning of an epoch. RocketMQ changes to the next epoch one frame
early: `epoch_start` may be the very end of the frame that carries it. `offset` is -1 in a heartbeat of a master without
a log. A master answers every handshake; a slave repeats its own until it is answered.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from sprocketmq.errors import FrameError
from sprocketmq.protocol.ha.epochs import Epoch, check_ascending
from sprocketmq.protocol.ha.stream_buffer import StreamBuffer, check_body_size, check_not_below

_HANDSHAKE_STATE, _TRANSFER_STATE = 1, 2
_STATE = struct.Struct(">i")
_HANDSHAKE = struct.Struct(">ihhq")
_REPORT = struct.Struct(">iq")
_ANSWER = struct.Struct(">iiqi")
_FRAME = struct.Struct(">iiqiqq")
_EPOCH = struct.Struct(">iq")
FRAME_HEADER_BYTES = _FRAME.size
#: A Java slave's buffer for the answer has no room for more.
MAX_EPOCHS = 1000


class Handshake(NamedTuple):
    """A slave says who it is and where it wants to begin when it has nothing."""

    broker_id: int
    from_last_file: bool = False
    learner: bool = False


class SlaveReport(NamedTuple):
    log_end: int


class HandshakeAnswer(NamedTuple):
    """The master's epochs, the last of which goes up to `log_end`."""

    log_end: int
    epochs: tuple[Epoch, ...]


class EpochFrame(NamedTuple):
    """Log bytes from `offset` on, all of one epoch; `confirm_offset` is how far the master lets readers see."""

    offset: int
    epoch: Epoch
    confirm_offset: int
    body: bytes


def encode_handshake(handshake: Handshake) -> bytes:
    """To be sent in one piece: a Java master reads it as soon as twelve bytes are there."""
    return _HANDSHAKE.pack(_HANDSHAKE_STATE, int(handshake.from_last_file), int(handshake.learner), handshake.broker_id)


def encode_report(log_end: int) -> bytes:
    return _REPORT.pack(_TRANSFER_STATE, log_end)


def encode_answer(log_end: int, epochs: Sequence[Epoch]) -> bytes:
    """With the newest epochs, where there are more than a slave can take."""
    told = epochs[-MAX_EPOCHS:]
    last = told[-1].epoch if told else -1
    head = _ANSWER.pack(_HANDSHAKE_STATE, len(told) * _EPOCH.size, log_end, last)
    return head + b"".join(_EPOCH.pack(epoch.epoch, epoch.start) for epoch in told)


def encode_frame_header(offset: int, size: int, epoch: Epoch, confirm_offset: int) -> bytes:
    """What comes before a body, which its sender need not copy."""
    return _FRAME.pack(_TRANSFER_STATE, size, offset, epoch.epoch, epoch.start, confirm_offset)


class SlaveDecoder:
    """The master's ear: handshakes and reports of a slave."""

    def __init__(self) -> None:
        self._buffer = StreamBuffer()

    def feed(self, data: bytes) -> list[Handshake | SlaveReport]:
        return self._buffer.feed(data, _next_of_slave)


def _next_of_slave(data: bytearray) -> tuple[Handshake | SlaveReport, int] | None:
    state = _state_of(data)
    if state == _HANDSHAKE_STATE and len(data) >= _HANDSHAKE.size:
        _, from_last_file, learner, broker_id = _HANDSHAKE.unpack_from(data)
        return Handshake(
            check_not_below(broker_id, "the id of a slave"), from_last_file == 1, learner == 1
        ), _HANDSHAKE.size
    if state == _TRANSFER_STATE and len(data) >= _REPORT.size:
        return SlaveReport(check_not_below(_REPORT.unpack_from(data)[1], "the reported log end")), _REPORT.size
    return None


class MasterDecoder:
    """The slave's ear: answers and frames of a master."""

    def __init__(self) -> None:
        self._buffer = StreamBuffer()

    def feed(self, data: bytes) -> list[HandshakeAnswer | EpochFrame]:
        return self._buffer.feed(data, _next_of_master)


def _next_of_master(data: bytearray) -> tuple[HandshakeAnswer | EpochFrame, int] | None:
    state = _state_of(data)
    if state == _HANDSHAKE_STATE and len(data) >= _ANSWER.size:
        return _answer(data)
    if state == _TRANSFER_STATE and len(data) >= _FRAME.size:
        return _frame(data)
    return None


def _answer(data: bytearray) -> tuple[HandshakeAnswer, int] | None:
    _, size, log_end, _last_epoch = _ANSWER.unpack_from(data)
    end = _ANSWER.size + check_body_size(size)
    if size % _EPOCH.size:
        raise FrameError(f"epochs of {size} bytes")
    check_not_below(log_end, "the master's log end")
    if len(data) < end:
        return None
    epochs = tuple(Epoch(*entry) for entry in _EPOCH.iter_unpack(bytes(data[_ANSWER.size : end])))
    return HandshakeAnswer(log_end, check_ascending(epochs)), end


def _frame(data: bytearray) -> tuple[EpochFrame, int] | None:
    _, size, offset, epoch, start, confirm_offset = _FRAME.unpack_from(data)
    end = FRAME_HEADER_BYTES + check_body_size(size)
    check_not_below(offset, "the offset of a frame", low=0 if size else -1)
    if len(data) < end:
        return None
    return EpochFrame(offset, Epoch(epoch, start), confirm_offset, bytes(memoryview(data)[FRAME_HEADER_BYTES:end])), end


def _state_of(data: bytearray) -> int | None:
    if len(data) < _STATE.size:
        return None
    state: int = _STATE.unpack_from(data)[0]
    if state not in (_HANDSHAKE_STATE, _TRANSFER_STATE):
        raise FrameError(f"state {state} in the auto-switch stream")
    return state
