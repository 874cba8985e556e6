"""Two stores and the default stream between them, through kills, cuts and reconnects at any byte.

One rule: the slave's log is a prefix of the master's, and never shorter than what the slave has reported.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.hypothesis_examples import examples
from tests.unit.store.support import open_store, put

from sprocketmq.broker.replication.log_cursor import LogCursor, first_offset, out_of_range
from sprocketmq.errors import FrameError
from sprocketmq.protocol.ha.default_stream import TransferDecoder, encode_frame_header, encode_report
from sprocketmq.store.files.disk import Disk
from sprocketmq.store.replica import Replica
from sprocketmq.store.store import MessageStore

FILE = 8192


class Replicating(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="replicating-"))
        self.master, self.slave = self._open("master"), self._open("slave")
        self.source, self.target = Replica(self.master, Disk()), Replica(self.slave, Disk())
        self.cursor: LogCursor | None = None
        self.decoder = TransferDecoder()
        self.wire = b""
        self.reported = 0
        self.began = 0

    def _open(self, name: str) -> MessageStore:
        return open_store(self.folder / name, mapped_file_size_commit_log=FILE)

    def teardown(self) -> None:
        self.master.abandon()
        self.slave.abandon()
        shutil.rmtree(self.folder)

    @rule(sizes=st.lists(st.integers(0, 3000), min_size=1, max_size=6))
    def send(self, sizes: list[int]) -> None:
        for size in sizes:
            assert put(self.master, "T", size % 3, b"." * (size + 1)).ok

    @precondition(lambda self: self.cursor is None)
    @rule()
    def connect(self) -> None:
        self.target.forget_incomplete()
        offset = int.from_bytes(encode_report(self.target.end_offset), "big")
        assert not offset or out_of_range(self.master, offset) is None
        self.cursor = LogCursor(self.master, self.source, offset or first_offset(self.master))
        self.decoder, self.wire = TransferDecoder(), b""

    @precondition(lambda self: self.cursor is not None)
    @rule(limit=st.integers(1, 4096), frames=st.integers(1, 4))
    def give(self, limit: int, frames: int) -> None:
        assert self.cursor is not None
        for _ in range(frames):
            at = self.cursor.offset
            body = self.cursor.take(limit) or b""
            self.wire += encode_frame_header(at, len(body)) + bytes(body)

    @precondition(lambda self: bool(self.wire))
    @rule(share=st.floats(0, 1))
    def arrive(self, share: float) -> None:
        count = max(1, int(len(self.wire) * share))
        data, self.wire = self.wire[:count], self.wire[count:]
        for frame in self.decoder.feed(data):
            if self.target.received_offset == 0 and frame.offset and frame.body:
                self.target.begin_at(frame.offset)
                self.began = frame.offset  # it has nothing below, and a kill before its first record lets it begin anew
            if frame.body:
                assert frame.offset == self.target.received_offset
                self.target.append(frame.body)
        if self.target.end_offset > self.began:
            self.reported = max(self.reported, self.target.end_offset)

    @precondition(lambda self: self.cursor is not None)
    @rule()
    def cut(self) -> None:
        self.cursor, self.wire = None, b""

    @rule()
    def kill_slave(self) -> None:
        """What the kernel has, it keeps: a kill takes nothing that was written."""
        self.slave.abandon()
        self.slave = self._open("slave")
        self.target = Replica(self.slave, Disk())
        self.cut()

    @precondition(lambda self: self.cursor is not None)
    @rule(junk=st.binary(min_size=200, max_size=400))
    def junk(self, junk: bytes) -> None:
        """A master that sends no log is left."""
        end = self.target.end_offset
        try:
            self.target.forget_incomplete()
            self.target.append(junk)
        except FrameError:
            pass
        assert self.target.end_offset == end
        self.cut()

    @invariant()
    def equal_prefixes(self) -> None:
        end = self.target.end_offset
        assert end >= self.reported
        assert end <= self.master.log.max_offset
        for base in self.slave.log.bases:
            upto = min(end - base, FILE)
            left, right = self.master.log.view_of(base), self.slave.log.view_of(base)
            assert left is not None
            assert right is not None
            assert left[:upto] == right[:upto]


TestReplicating = Replicating.TestCase
TestReplicating.settings = settings(max_examples=examples(40), stateful_step_count=40, deadline=None)
