from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import pytest
from tests.loop_clock import LoopClock

from sprocketmq.broker.pull.woken_requests import SLICE_BYTES, SLICE_COUNT, UNREAD_BYTES, WokenRequests
from sprocketmq.remoting import Connection


class Peer:
    """In the place of a connection. What is written to it stays unread, until it reads."""

    def __init__(self, *, reads: bool = True) -> None:
        self.reads = reads
        self.peer = "a peer"
        self.closed = False
        self.stalled_since: float | None = None
        self.unread_bytes = 0
        self.answers = 0
        self.on_writable: list[Callable[[], None]] = []

    def write(self, size: int) -> int:
        self.answers += 1
        self.unread_bytes += 0 if self.reads else size
        return size

    def read(self, size: int) -> None:
        self.unread_bytes -= size

    def abort(self, _reason: str) -> None:
        self.closed = True


def wake(woken: WokenRequests, peer: Peer, size: int) -> None:
    woken.add(cast(Connection, peer), lambda: 0 if peer.closed else peer.write(size))


async def turns(count: int) -> None:
    for _turn in range(count):
        await asyncio.sleep(0)


async def test_a_few_are_answered_in_each_turn_of_the_loop() -> None:
    woken, peer = WokenRequests(), Peer()
    for _ in range(5 * SLICE_COUNT):
        wake(woken, peer, 100)
    assert peer.answers == 0  # messages that come together are answered together
    for turn in range(1, 6):
        await turns(1)
        assert peer.answers == turn * SLICE_COUNT
    await turns(2)
    assert len(woken) == 0


async def test_large_answers_are_fewer_in_a_turn() -> None:
    woken, peer = WokenRequests(), Peer()
    for _ in range(6):
        wake(woken, peer, SLICE_BYTES // 2)
    for turn in range(1, 4):
        await turns(1)
        assert peer.answers == 2 * turn


async def test_one_that_fails_holds_up_nobody_and_is_not_left_waiting(caplog: pytest.LogCaptureFixture) -> None:
    """Its connection ends: the client comes again, and asks again."""
    woken, unlucky, peer = WokenRequests(), Peer(), Peer()
    woken.add(cast(Connection, unlucky), lambda: 1 // 0)
    wake(woken, peer, 100)
    await turns(2)
    assert (peer.answers, peer.closed) == (1, False)
    assert unlucky.closed
    assert "request not answered" in caplog.text


async def test_a_look_that_fails_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    woken, peer, looks = WokenRequests(), Peer(), iter((ValueError("the look"),))
    failures: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: failures.append(context["exception"]))

    def look(_now: float) -> bool:
        for failure in looks:
            raise failure
        return False

    monkeypatch.setattr(woken, "_is_full", look)
    wake(woken, peer, 100)
    await turns(3)
    assert (peer.answers, len(failures)) == (1, 1)


async def test_who_does_not_read_gets_no_more_and_others_do() -> None:
    woken, stalled, other = WokenRequests(), Peer(), Peer()
    stalled.stalled_since = 1.0
    for peer in (stalled, other, stalled, other):
        wake(woken, peer, 100)
    await turns(2)
    assert (stalled.answers, other.answers, len(woken)) == (0, 2, 0)
    stalled.stalled_since = None
    for callback in stalled.on_writable:
        callback()
    await turns(1)
    assert stalled.answers == 2


async def test_nothing_is_built_while_too_much_is_unread(loop_clock: LoopClock) -> None:
    woken, size = WokenRequests(), 4 << 20
    peers = [Peer(reads=False) for _ in range(3 * UNREAD_BYTES // size)]
    for peer in peers:
        wake(woken, peer, size)
    for _ in range(5):
        await turns(len(peers))
        assert sum(peer.unread_bytes for peer in peers) <= UNREAD_BYTES + size
    answered = [peer for peer in peers if peer.answers]
    for peer in answered:
        peer.read(size)
    loop_clock.advance(0.1)
    await turns(len(peers))
    assert len([peer for peer in peers if peer.answers]) == 2 * len(answered)
    assert sum(peer.unread_bytes for peer in peers) <= UNREAD_BYTES + size
    woken.stop()


@pytest.mark.parametrize(("each_time", "dropped"), [(0, True), (1000, True), (100_000, False)])
async def test_who_reads_next_to_nothing_does_not_hold_up_the_others_for_long(
    loop_clock: LoopClock, each_time: int, dropped: bool
) -> None:
    woken, other, hoarder = WokenRequests(), Peer(), Peer(reads=False)
    wake(woken, hoarder, 2 * UNREAD_BYTES)
    await turns(2)
    wake(woken, other, 100)
    for _ in range(15):
        loop_clock.advance(0.1)
        hoarder.read(each_time)
        await turns(2)
    assert (hoarder.closed, other.answers) == (dropped, int(dropped))
    woken.stop()
