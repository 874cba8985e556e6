from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.unit.broker.support import make_settings
from tests.unit.store.support import open_store

from sprocketmq.broker.controller_mode.sync_state_changes import SyncStateChanges
from sprocketmq.broker.replication.in_sync_set import InSyncSet
from sprocketmq.codes import ResponseCode
from sprocketmq.protocol.command import Command


class Refusing:
    def __init__(self, code: int) -> None:
        self._code = code

    async def ask(self, *_request: object, body: bytes) -> Command:
        return Command(self._code)


@pytest.mark.parametrize(
    ("code", "members", "looks"),
    [
        (ResponseCode.CONTROLLER_FENCED_SYNC_STATE_SET_EPOCH, {1, 2}, 1),
        (ResponseCode.CONTROLLER_ALTER_SYNC_STATE_SET_FAILED, {1, 2}, 1),
        (ResponseCode.SYSTEM_ERROR, {1, 2}, 0),
        (ResponseCode.CONTROLLER_NOT_LEADER, {1, 2}, 0),
        (ResponseCode.CONTROLLER_BROKER_NOT_ALIVE, {1}, 0),
        (ResponseCode.CONTROLLER_INVALID_REPLICAS, {1}, 0),
    ],
    ids=["another set epoch", "equal", "its store failed", "it does not lead", "not alive", "not known"],
)
async def test_a_set_whose_copy_may_have_been_granted_counts_on(
    tmp_path: Path, code: int, members: set[int], looks: int
) -> None:
    """A copy whose answer was lost has changed the set: that is what the refusal of the next one says. A controller
    whose store failed, or that was put down meanwhile, does not know whether the set is another one.
    """
    settings, looked = make_settings(tmp_path), []
    in_sync = InSyncSet(settings, open_store(tmp_path / "store"), lambda: 0.0)
    in_sync.begin(1, {1}, 1, 0)
    refusing: Any = Refusing(code)
    changes = SyncStateChanges(in_sync, refusing, settings.current, lambda: looked.append(True))
    changes.reign(1)
    await changes._ask(1, frozenset({1, 2}))
    assert in_sync.members == members
    assert len(looked) == looks


async def test_whatever_fails_the_set_is_looked_at_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings, asked = make_settings(tmp_path), asyncio.Event()
    in_sync = InSyncSet(settings, open_store(tmp_path / "store"), lambda: 0.0)
    in_sync.begin(1, {1}, 1, 0)
    looks = iter([KeyError("nobody expects it"), frozenset({1, 2}), None])

    def wanted() -> frozenset[int] | None:
        look = next(looks, None)
        if isinstance(look, Exception):
            raise look
        return look

    class Asked(Refusing):
        async def ask(self, *_request: object, body: bytes) -> Command:
            asked.set()
            return await super().ask(body=body)

    controllers: Any = Asked(ResponseCode.CONTROLLER_BROKER_NOT_ALIVE)
    changes = SyncStateChanges(in_sync, controllers, settings.current, lambda: None)
    in_sync.wanted = wanted  # type: ignore[method-assign]
    changes.start()
    changes.reign(1)
    async with asyncio.timeout(60):
        while "nobody expects it" not in caplog.text:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0)
        changes.reign(1)
        await asked.wait()
    changes.stop()
