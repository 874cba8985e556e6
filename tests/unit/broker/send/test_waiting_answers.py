from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.broker.conftest import StartBroker
from tests.unit.broker.support import Caller

from sprocketmq.broker.metrics.counter import Counter
from sprocketmq.broker.send.waiting_answers import WaitingAnswers
from sprocketmq.broker.tables.saver import Saver
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame
from sprocketmq.remoting import Connection


class Peer:
    peer = "somebody"

    def __init__(self, *, fails: bool = False, abort_fails: bool = False) -> None:
        self.heard: list[bytes | Command] = []
        self.fails, self.abort_fails = fails, abort_fails
        self.aborted = ""

    def reply(self, reply: bytes | Command, _request: Command) -> None:
        if self.fails:
            raise ValueError("made to fail")
        self.heard.append(reply)

    def abort(self, reason: str) -> None:
        if self.abort_fails:
            raise MemoryError
        self.aborted = reason


class Scene:
    """Answers to `peer`, whose messages end where it is said."""

    def __init__(self) -> None:
        self.now = 100.0
        self.topics = Saver("topics", lambda: lambda: None)
        self.answers = WaitingAnswers(self.topics)
        self.answers.time = lambda: self.now
        self.peer = Peer()

    def add(self, end_offset: int, peer: Peer | None = None, counter: Counter | None = None) -> int:
        request = Command(RequestCode.SEND_MESSAGE_V2, opaque=end_offset, body=b"in the log")
        connection: Any = peer or self.peer
        return self.answers.add(end_offset, connection, request, answer(end_offset), counter)


def answer(end_offset: int) -> bytes:
    return encode_frame(Command(0, opaque=end_offset, flag=1, ext_fields={"queueOffset": "7"}))


def test_what_is_safe_is_answered_in_order_and_timed() -> None:
    scene, counter = Scene(), Counter()
    assert [scene.add(end, counter=counter) for end in (10, 20, 30)] == [1, 2, 3]
    scene.now = 100.5
    scene.answers.succeed(20, scene.now)
    assert scene.peer.heard == [answer(10), answer(20)]
    assert counter.micros == 1_000_000
    assert len(scene.answers) == 1
    scene.answers.succeed(20, scene.now)
    assert len(scene.peer.heard) == 2
    first = scene.answers.first
    assert first is not None
    assert (first.end_offset, first.since) == (30, 100.0)


def test_one_of_a_new_topic_waits_for_its_table_and_keeps_nobody_waiting() -> None:
    scene = Scene()
    scene.add(10)
    scene.topics.changed()
    scene.answers.wait_for_topic(scene.topics.changes)
    scene.add(20)
    scene.answers.succeed(20, scene.now)
    assert scene.peer.heard == [answer(20)]
    assert (len(scene.answers), scene.answers.first) == (1, None)
    scene.answers.succeed_saved(scene.now)
    assert len(scene.answers) == 1
    scene.topics._saved = scene.topics.changes
    scene.answers.succeed_saved(scene.now)
    assert scene.peer.heard == [answer(20), answer(10)]
    assert len(scene.answers) == 0


def test_who_cannot_be_answered_is_dropped_and_the_others_are_answered() -> None:
    scene, broken = Scene(), Peer(fails=True)
    scene.add(10)
    scene.add(20, broken)
    scene.add(30)
    scene.answers.succeed(30, scene.now)
    assert scene.peer.heard == [answer(10), answer(30)]
    assert broken.aborted
    assert len(scene.answers) == 0


def test_whatever_fails_nobody_is_answered_twice_and_nobody_is_forgotten() -> None:
    scene, broken = Scene(), Peer(fails=True, abort_fails=True)
    scene.add(10)
    scene.add(20, broken)
    scene.add(30)
    with pytest.raises(MemoryError):
        scene.answers.succeed(30, scene.now)
    assert scene.peer.heard == [answer(10)]
    broken.fails = False
    scene.answers.succeed(30, scene.now)
    assert scene.peer.heard == [answer(10), answer(30)]
    assert broken.heard == [answer(20)]


def test_one_that_is_not_safe_is_told_so_with_what_is_known() -> None:
    scene = Scene()
    scene.add(10)
    scene.answers.fail_first(ResponseCode.FLUSH_DISK_TIMEOUT, "too late")
    (late,) = scene.peer.heard
    assert isinstance(late, Command)
    assert (late.code, late.remark, late.ext_fields) == (
        ResponseCode.FLUSH_DISK_TIMEOUT, "too late", {"queueOffset": "7"},
    )  # fmt: skip
    assert len(scene.answers) == 0


async def test_what_one_sync_makes_safe_leaves_in_one_write(
    start_broker: StartBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = await start_broker(flushDiskType="SYNC_FLUSH")
    caller = Caller(broker)
    assert (await caller.send()).code == ResponseCode.SUCCESS
    broker.store.on_progress = None  # nobody hears of the disk until the test says so
    sends = [asyncio.ensure_future(caller.send()) for _ in range(8)]
    while len(broker.acks) < len(sends):  # noqa: ASYNC110 - the broker has no event for it
        await asyncio.sleep(0)
    writes: list[bytes] = []
    (connection,) = broker.server.connections
    transport = connection._transport
    monkeypatch.setattr(connection, "_transport", Recording(transport, writes))
    broker.store.flush()
    broker.acks.progress()
    assert [(await send).code for send in sends] == [ResponseCode.SUCCESS] * len(sends)
    (written,) = writes
    assert len(FrameDecoder().feed(written)) == len(sends)
    assert isinstance(connection, Connection)
    await caller.client.close(grace=0.1)


class Recording:
    def __init__(self, transport: Any, writes: list[bytes]) -> None:
        self._transport, self._writes = transport, writes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        self._writes.append(data)
        self._transport.write(data)
