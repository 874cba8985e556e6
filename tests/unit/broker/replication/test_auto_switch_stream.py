"""The stream of a slave under a controller, by itself: what is said before the two logs agree, and what after."""

from __future__ import annotations

import asyncio
import errno
import threading
from pathlib import Path

import pytest
from tests.fault.held_disk import HeldDisk
from tests.unit.broker.replication.support import until
from tests.unit.store.support import open_store, put

from sprocketmq.broker.replication.auto_switch_stream import AutoSwitchStream
from sprocketmq.broker.replication.epoch_store import FILE_NAME, EpochStore
from sprocketmq.protocol.ha.epochs import Epoch
from sprocketmq.protocol.ha.switch_stream import (
    Handshake,
    SlaveDecoder,
    SlaveReport,
    encode_answer,
    encode_frame_header,
)
from sprocketmq.store.files.disk import Disk
from sprocketmq.store.log.commitlog import LogSegment
from sprocketmq.store.replica import Replica

HANDSHAKE = Handshake(7)
MINE = Epoch(1, 0)


class Wire(asyncio.Transport):
    """What was said, decoded as a master does."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[Handshake | SlaveReport] = []
        self.aborted = self.paused = False
        self._decoder = SlaveDecoder()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.said += self._decoder.feed(bytes(data))

    def abort(self) -> None:
        self.aborted = True

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False


class Connected:
    """A slave with ten messages of epoch 1, connected to a master that has said nothing yet."""

    def __init__(self, root: Path) -> None:
        self.store = open_store(root)
        self.ends = []
        for _ in range(10):
            assert put(self.store, body=b"x" * 100).ok
            self.ends.append(self.store.log.max_offset)
        self.disk = HeldDisk(root)
        self.epochs = EpochStore(self.disk, root / FILE_NAME)
        self.replica = Replica(self.store, Disk())
        self.stream = AutoSwitchStream(
            self.replica, lambda: self.replica.end_offset, self.store, self.epochs, HANDSHAKE
        )
        self.wire = Wire()
        self.stream.connection_made(self.wire)

    def frame(self, number: int, epoch: Epoch) -> bytes:
        """The message after so many of these, as another master's log has it."""
        offset = self.ends[number - 1]
        body = bytes(self.replica.slice_at(offset, self.ends[number] - offset) or b"")
        return encode_frame_header(offset, len(body), epoch, offset) + body


@pytest.fixture
async def connected(tmp_path: Path) -> Connected:
    connected = Connected(tmp_path)
    await connected.epochs.add(MINE)
    return connected


async def test_a_log_is_not_reported_before_it_is_known_what_of_it_is_the_masters(connected: Connected) -> None:
    """The answer may be long in coming: what is synced meanwhile, and what is due, is no report."""
    connected.stream.report()
    connected.stream.report(always=True)
    assert connected.wire.said == [HANDSHAKE, HANDSHAKE]


async def test_the_first_report_is_of_what_both_have(connected: Connected) -> None:
    shared = connected.ends[5]
    connected.stream.data_received(encode_answer(connected.ends[9], [MINE, Epoch(2, shared)]))
    await until(lambda: len(connected.wire.said) == 2)
    assert connected.wire.said == [HANDSHAKE, SlaveReport(shared)]
    assert connected.store.log.max_offset == shared
    assert connected.epochs.list.all == (MINE,)


async def test_the_log_does_not_come_before_the_handshake(connected: Connected) -> None:
    """Not even where it fits: nobody has looked whether what is before it is the same."""
    end, body = connected.ends[9], bytes(connected.replica.slice_at(0, connected.ends[0]) or b"")
    connected.stream.data_received(encode_frame_header(end, len(body), Epoch(2, end), end) + body)
    assert connected.wire.aborted
    assert connected.wire.said == [HANDSHAKE]
    assert connected.store.log.max_offset == end
    assert connected.epochs.list.all == (MINE,)


async def test_a_cut_is_reported_when_the_epochs_are_on_disk(connected: Connected) -> None:
    """The epoch that only this log has is gone from the file first; what follows is held, and the loop is not."""
    shared = connected.ends[5]
    await connected.epochs.add(Epoch(2, connected.ends[7]))
    frame = connected.frame(6, Epoch(3, shared))
    connected.disk.going.clear()
    try:
        connected.stream.data_received(encode_answer(shared, [MINE, Epoch(3, shared)]) + frame)
        await until(connected.disk.waiting.is_set)
        connected.stream.report(always=True)
        assert connected.wire.said == [HANDSHAKE, HANDSHAKE]
        assert connected.wire.paused
        assert connected.store.log.max_offset == shared
    finally:
        connected.disk.going.set()
    await until(lambda: not connected.wire.paused)
    assert connected.wire.said[2:] == [SlaveReport(shared), SlaveReport(connected.ends[6])]
    assert connected.epochs.list.all == (MINE, Epoch(3, shared))
    assert connected.disk.synced_by_loop == []


async def test_what_is_cut_is_flushed_beside_the_loop(connected: Connected, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log may have much that is not on disk yet; the cut waits for that, and the loop does not."""
    shared, end, log = connected.ends[5], connected.ends[9], connected.store.log
    waiting, going, flush = threading.Event(), threading.Event(), log.sync

    def held(segment: LogSegment, upto: int) -> None:
        waiting.set()
        going.wait()
        flush(segment, upto)

    monkeypatch.setattr(log, "sync", held)
    try:
        connected.stream.data_received(encode_answer(shared, [MINE, Epoch(2, shared)]))
        await until(waiting.is_set)
        assert connected.wire.paused
        assert log.max_offset == end
    finally:
        going.set()
    await until(lambda: connected.wire.said[-1] == SlaveReport(shared))
    assert log.max_offset == shared


async def test_bytes_of_an_epoch_come_after_it(connected: Connected) -> None:
    shared = connected.ends[5]
    frames = [connected.frame(number, Epoch(2, shared)) for number in (6, 7)]
    connected.stream.data_received(encode_answer(shared, [MINE, Epoch(2, shared)]))
    await until(lambda: len(connected.wire.said) == 2)
    connected.disk.going.clear()
    try:
        connected.stream.data_received(frames[0])
        await until(connected.disk.waiting.is_set)
        connected.stream.data_received(frames[1])
        assert connected.store.log.max_offset == shared
    finally:
        connected.disk.going.set()
    await until(lambda: connected.wire.said[-1] == SlaveReport(connected.ends[7]))
    assert connected.store.log.max_offset == connected.ends[7]
    assert connected.disk.synced_by_loop == []


async def test_what_was_held_is_nobodys_when_the_stream_is_closed(connected: Connected) -> None:
    """This broker may be the master by the time its disk answers."""
    shared = connected.ends[5]
    frame = connected.frame(6, Epoch(2, shared))
    connected.stream.data_received(encode_answer(shared, [MINE, Epoch(2, shared)]))
    await until(lambda: len(connected.wire.said) == 2)
    connected.disk.going.clear()
    try:
        connected.stream.data_received(frame)
        await until(connected.disk.waiting.is_set)
        connected.stream.close("this broker is the master now")
    finally:
        connected.disk.going.set()
    await connected.epochs.lead(3, 0, connected.store.log.max_offset)  # after all that was begun before
    assert connected.store.log.max_offset == shared
    assert connected.epochs.list.all == (MINE, Epoch(3, shared))
    assert len(connected.wire.said) == 2


async def test_an_epoch_that_cannot_be_kept_ends_the_stream(
    connected: Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = connected.ends[5]
    frame = connected.frame(6, Epoch(2, shared))
    connected.stream.data_received(encode_answer(shared, [MINE, Epoch(2, shared)]))
    await until(lambda: len(connected.wire.said) == 2)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(connected.disk, "write_bytes", full)
    connected.stream.data_received(frame)
    await until(lambda: connected.wire.aborted)
    assert connected.store.log.max_offset == shared
    assert connected.epochs.list.all == (MINE,)
