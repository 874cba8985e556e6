from __future__ import annotations

import asyncio
from typing import Any

from tests.loop_clock import LoopClock, loop_clock  # noqa: F401 - a fixture

from sprocketmq.auth.authentication.wrong_keys import FREE, MAX_ADDRESSES, WrongKeys
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.command import Command

from ..test_guard import FakeConnection, connection

REFUSED = RequestRefused(16, "check signature failed.")


class Answering(FakeConnection):
    closed = False

    def __init__(self) -> None:
        super().__init__(connection().peer)
        self.answers: list[Command] = []
        self.rests: list[float] = []
        self.cost_ns = 0

    def reply(self, reply: Any, request: Any, *, waited: bool = False) -> None:
        self.answers.append(reply)

    def rest(self, seconds: float) -> None:
        self.rests.append(seconds)


async def test_after_ten_in_a_minute_the_answer_waits(loop_clock: LoopClock) -> None:  # noqa: F811
    now = [0.0]
    keys, at = WrongKeys(lambda: now[0]), Answering()
    for _ in range(FREE):
        assert not keys.hold_back(at, Command(10, opaque=7), REFUSED)
    assert keys.hold_back(at, Command(10, opaque=7), REFUSED)
    assert (at.answers, at.rests) == ([], [1.0])
    other = Answering()
    other.peer = connection("10.0.0.10").peer
    assert not keys.hold_back(other, Command(10), REFUSED)
    loop_clock.advance(0.9)
    await asyncio.sleep(0)
    assert at.answers == []
    loop_clock.advance(0.2)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert (at.answers[0].code, at.answers[0].opaque) == (16, 7)
    now[0] = 61.0
    assert not keys.hold_back(at, Command(10), REFUSED)
    assert keys.count == FREE + 3


async def test_what_waits_for_its_refusal_keeps_nothing_of_its_sender(loop_clock: LoopClock) -> None:  # noqa: F811
    """Else a second of requests of 16 MiB each would lie in memory."""
    keys, at = WrongKeys(lambda: 0.0), Answering()
    for _ in range(FREE):
        keys.hold_back(at, Command(10), REFUSED)
    waiting = Command(10, opaque=7, ext_fields={"topic": "T" * 10_000}, body=bytes(10_000))
    assert keys.hold_back(at, waiting, REFUSED)
    assert (waiting.body, waiting.ext_fields) == (b"", None)
    loop_clock.advance(1.1)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert [answer.opaque for answer in at.answers] == [7]


async def test_addresses_are_not_remembered_without_end() -> None:
    keys = WrongKeys(lambda: 0.0)
    for number in range(MAX_ADDRESSES + 5):
        at = connection(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
        keys.hold_back(at, Command(10), REFUSED)
    assert len(keys._since) == MAX_ADDRESSES
