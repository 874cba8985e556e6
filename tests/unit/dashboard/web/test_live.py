"""Live parts: sent when they have changed, ended when the console stops, known to be old while the cluster is away."""

from __future__ import annotations

import asyncio

import pytest
from starlette.responses import StreamingResponse

from sprocketmq.dashboard.web.live import LiveParts
from sprocketmq.errors import SprocketError


async def test_a_part_is_sent_when_it_has_changed() -> None:
    live = LiveParts(every=0.0)
    answers = iter(["one", "one", "", "", "one", "two"])

    async def make() -> str:
        if not (answer := next(answers)):
            raise SprocketError("away")
        return answer

    response = live.stream(make)
    assert isinstance(response, StreamingResponse)
    events = aiter(response.body_iterator)
    async with asyncio.timeout(60):
        assert await anext(events) == b'data: "one"\n\n'
        assert live.watching == 1
        assert await anext(events) == b'event: away\ndata: "The cluster does not answer: away."\n\n'
        assert await anext(events) == b'data: "one"\n\n', "as it was, and new again"
        assert await anext(events) == b'data: "two"\n\n'
        live.stop()
        with pytest.raises(StopAsyncIteration):
            await anext(events)
    assert live.watching == 0


async def test_a_part_ends_with_the_right_to_see_it() -> None:
    live, allowed = LiveParts(every=0.0), [True, False]

    async def make() -> str:
        return "seen"

    response = live.stream(make, lambda: allowed.pop(0))
    assert isinstance(response, StreamingResponse)
    async with asyncio.timeout(60):
        assert [event async for event in response.body_iterator] == [b'data: "seen"\n\n']
    assert live.watching == 0


async def test_too_many_pages_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sprocketmq.dashboard.web.live._MOST_STREAMS", 0)

    async def make() -> str:
        return ""

    assert LiveParts().stream(make).status_code == 503
