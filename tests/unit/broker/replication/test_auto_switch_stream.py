"""The stream of a slave under a controller, by itself: what is said before the two logs agree, and what after."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
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
from sprocketmq.store.files.files import Disk
from sprocketmq.store.replica import Replica

HANDSHAKE = Handshake(7)
MINE = Epoch(1, 0)


class Wire(asyncio.Transport):
    """What was said, decoded as a master does."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[Handshake | SlaveReport] = []
        self.aborted = False
        self._decoder = SlaveDecoder()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.said += self._decoder.feed(bytes(data))

    def abort(self) -> None:
        self.aborted = True


class Connected:
    """A slave with ten messages of epoch 1, connected to a master that has said nothing yet."""

    def __init__(self, root: Path) -> None:
        self.store = open_store(root)
        self.ends = []
        for _ in range(10):
            assert put(self.store, body=b"x" * 100).ok
            self.ends.append(self.store.log.max_offset)
        self.epochs = EpochStore(Disk(), root / FILE_NAME)
        self.epochs.add(MINE)
        self.replica = Replica(self.store, Disk())
        self.stream = AutoSwitchStream(
            self.replica, lambda: self.replica.end_offset, self.store, self.epochs, HANDSHAKE
        )
        self.wire = Wire()
        self.stream.connection_made(self.wire)


@pytest.fixture
async def connected(tmp_path: Path) -> Connected:
    return Connected(tmp_path)


async def test_a_log_is_not_reported_before_it_is_known_what_of_it_is_the_masters(connected: Connected) -> None:
    """The answer may be long in coming: what is synced meanwhile, and what is due, is no report."""
    connected.stream.report()
    connected.stream.report(always=True)
    assert connected.wire.said == [HANDSHAKE, HANDSHAKE]


async def test_the_first_report_is_of_what_both_have(connected: Connected) -> None:
    shared = connected.ends[5]
    connected.stream.data_received(encode_answer(connected.ends[9], [MINE, Epoch(2, shared)]))
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
