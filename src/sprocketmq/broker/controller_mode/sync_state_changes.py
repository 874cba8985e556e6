"""Asking the controller for another in-sync set, one request at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sprocketmq.broker.config import BrokerConfig
from sprocketmq.broker.controller_mode.controller_client import ControllerClient
from sprocketmq.broker.replication.in_sync_set import InSyncSet
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import SprocketError
from sprocketmq.logs import Events
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.controller import SyncStateSet
from sprocketmq.protocol.headers.controller import AlterSyncStateSetRequestHeader

events = Events("sprocketmq.broker.controller_mode")

#: Answers that mean that this broker's view is old: who is the master, or which set, must be looked up.
OLD_VIEW = frozenset(
    {
        ResponseCode.CONTROLLER_FENCED_MASTER_EPOCH,
        ResponseCode.CONTROLLER_FENCED_SYNC_STATE_SET_EPOCH,
        ResponseCode.CONTROLLER_INVALID_MASTER,
        ResponseCode.CONTROLLER_ALTER_SYNC_STATE_SET_FAILED,
    }
)

#: Answers to a request that was held against the set, and could not be granted: nor was an earlier copy of it.
REFUSALS = frozenset({ResponseCode.CONTROLLER_INVALID_REPLICAS, ResponseCode.CONTROLLER_BROKER_NOT_ALIVE})


class SyncStateChanges:
    """Looks every `checkSyncStateSetPeriod`, and when a replica comes or goes, whether the set should be another."""

    def __init__(
        self, in_sync: InSyncSet, controllers: ControllerClient, config: BrokerConfig, look: Callable[[], object]
    ) -> None:
        self.on_progress: Callable[[], object] = lambda: None
        self._in_sync = in_sync
        self._controllers = controllers
        self._config = config
        self._look = look
        self._epoch: int | None = None
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        in_sync.on_change = self._changed.set

    def reign(self, epoch: int | None) -> None:
        """This broker is the master of that epoch, or of none."""
        self._epoch = epoch
        self._changed.set()

    def start(self) -> None:
        self._task = asyncio.ensure_future(self._run())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._config.check_sync_state_set_period / 1000):
                    await self._changed.wait()
            except TimeoutError:
                pass
            self._changed.clear()
            try:
                await self._look_at_set()
            except Exception as error:  # noqa: BLE001 - the edge of this task: without it the set would stay as it is
                events.error("in-sync set not changed", error)
                await asyncio.sleep(0.1)

    async def _look_at_set(self) -> None:
        wanted = None if self._epoch is None else self._in_sync.wanted()
        if self._epoch is not None:
            self.on_progress()
        if wanted is None or self._epoch is None:
            return
        try:
            await self._ask(self._epoch, wanted)
        except SprocketError as error:
            events.warning("in-sync set not changed", wanted=sorted(wanted), reason=error)
            await asyncio.sleep(0.1)

    async def _ask(self, epoch: int, wanted: frozenset[int]) -> None:
        in_sync = self._in_sync
        header = AlterSyncStateSetRequestHeader(
            broker_name=self._config.broker_name, master_broker_id=in_sync.broker_id, master_epoch=epoch
        )
        body = SyncStateSet(sync_state_set=wanted, sync_state_set_epoch=in_sync.epoch)
        in_sync.requesting(wanted)
        answer = await self._controllers.ask(
            RequestCode.CONTROLLER_ALTER_SYNC_STATE_SET, header, body=codec.encode(body)
        )
        if self._epoch != epoch:
            return  # another reign has begun meanwhile
        if answer.code == ResponseCode.SUCCESS:
            granted = codec.decode(SyncStateSet, answer.body)
            in_sync.adopt(granted.sync_state_set, granted.sync_state_set_epoch)
            tell = events.warning if len(in_sync.known) == 1 else events.info
            tell("in-sync set changed", members=sorted(in_sync.known), set_epoch=in_sync.epoch)
        else:
            events.warning("in-sync set refused", wanted=sorted(wanted), code=answer.code, remark=answer.remark)
            if answer.code in REFUSALS:
                in_sync.refused(wanted)
            elif answer.code in OLD_VIEW:
                self._look()
            # This one, or an earlier copy, may have been granted, or be kept by a store that did not answer in time: it
            # counts until we know.
            await asyncio.sleep(0.1)
        self.on_progress()
