from __future__ import annotations

import logging
import time
from types import SimpleNamespace
from typing import cast

import pytest
from tests.unit.client.fakes import stored

from sprocketmq.client.push.context import Running
from sprocketmq.client.push.handlers import HandlerOutcome
from sprocketmq.client.push.pop import PopConsumption
from sprocketmq.client.push.pop_handles import PopHandle
from sprocketmq.client.received import ReceivedMessage, split_records

HOUR_MS = 3_600_000


class Handled:
    """A POP consumer without a broker: what its handler got, and what was acknowledged."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.consumed: list[bytes] = []
        self.acknowledged: list[PopHandle] = []
        running = SimpleNamespace(
            settings=SimpleNamespace(concurrency=1),
            subscriptions={"T": SimpleNamespace(select=lambda messages: messages)},
            consume=self._consume,
        )
        self.pop = PopConsumption(cast(Running, running))
        monkeypatch.setattr(self.pop, "_ack", self._ack)

    async def _consume(self, messages: list[ReceivedMessage], _queue: object) -> HandlerOutcome:
        self.consumed += [message.body for message in messages]
        return HandlerOutcome("success")

    async def _ack(self, handle: PopHandle, _topic: str) -> None:
        self.acknowledged.append(handle)


@pytest.mark.parametrize("apart_ms", [-HOUR_MS, HOUR_MS])
async def test_clocks_that_differ_discard_nothing(monkeypatch: pytest.MonkeyPatch, apart_ms: int) -> None:
    handled = Handled(monkeypatch)
    (message,) = split_records(stored(b"body", 0), "b")
    handle = PopHandle(0, int(time.time() * 1000) + apart_ms, 60_000, 0, "0", "b", 0, 0)
    await handled.pop._consume(message, handle, "T", time.monotonic())
    assert handled.consumed == [b"body"]
    assert handled.acknowledged == [handle]


async def test_what_waited_too_long_is_told(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    handled = Handled(monkeypatch)
    (message,) = split_records(stored(b"body", 0), "b")
    handle = PopHandle(0, int(time.time() * 1000), 60_000, 0, "0", "b", 0, 0)
    with caplog.at_level(logging.WARNING):
        await handled.pop._consume(message, handle, "T", time.monotonic() - 61)
    assert handled.consumed == []
    assert "it comes again" in caplog.text
