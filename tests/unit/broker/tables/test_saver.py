from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from math import inf
from unittest.mock import Mock

import pytest
from tests.loop_clock import LoopClock

from sprocketmq.broker.tables import saver as module
from sprocketmq.broker.tables.saver import Saver


@pytest.mark.parametrize("rest", [0.0, 0.001], ids=["begun at once", "begun by a timer"])
async def test_a_save_that_cannot_begin_is_reported_and_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, rest: float
) -> None:
    monkeypatch.setattr(module, "AFTER_FAILURE", 0.0)
    tries: list[int] = []

    def take() -> Callable[[], None]:
        tries.append(1)
        if len(tries) == 1:
            raise MemoryError
        return lambda: None

    saver = Saver("table", take)
    saver._rest_until = asyncio.get_running_loop().time() + rest
    saver.soon()
    async with asyncio.timeout(60):
        while saver.dirty:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0)
    assert len(tries) == 2
    assert "table not saved" in caplog.text


async def test_a_save_whose_end_is_not_noted_is_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AFTER_FAILURE", 0.0)
    saver, failures, saves = Saver("table", lambda: lambda: saves.append(1)), [MemoryError()], list[int]()
    note = saver._note_saved

    def fail_first(changes: int) -> None:
        if failures:
            raise failures.pop()
        note(changes)

    monkeypatch.setattr(saver, "_note_saved", fail_first)
    saver.soon()
    async with asyncio.timeout(60):
        while saver.dirty:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0)
    assert len(saves) == 2


@pytest.mark.parametrize(("longest_rest", "is_saved"), [(0.5, True), (inf, False)])
async def test_how_long_a_table_may_be_behind_after_a_slow_save(
    loop_clock: LoopClock, longest_rest: float, is_saved: bool
) -> None:
    def slow() -> None:
        loop_clock.advance(60)

    saver = Saver("table", lambda: slow, longest_rest)
    saver.changed()
    await saver.saved()
    saver.soon()
    loop_clock.advance(1)
    async with asyncio.timeout(3600):
        for _ in range(3):
            await asyncio.sleep(0)
        if saver.busy:
            await saver.saved()
    assert saver.dirty is not is_saved


async def test_a_save_whose_end_nobody_would_hear_of_is_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AFTER_FAILURE", 0.0)
    saves, failures, submit = list[int](), [MemoryError()], module.threads.submit

    def fail_first(work: Callable[[], object]) -> Future[object]:
        job = submit(work)
        if failures:
            monkeypatch.setattr(job, "add_done_callback", Mock(side_effect=failures.pop()))
        return job

    monkeypatch.setattr(module.threads, "submit", fail_first)
    saver = Saver("table", lambda: lambda: saves.append(1))
    saver.soon()
    async with asyncio.timeout(60):
        while saver.dirty:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0)
    assert len(saves) == 2


async def test_a_save_that_failed_while_a_stop_waited_for_it_is_reported_and_done_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    jobs: list[Callable[[], object]] = [Mock(side_effect=OSError(5, "Input/output error")), lambda: None]
    saver = Saver("table", lambda: jobs.pop(0))
    saver.soon()
    saver.close()
    assert not saver.dirty
    assert [record.getMessage() for record in caplog.records] == ["table not saved"]
