"""A broker on a disk that fails, in a time of its own: an hour of users takes seconds, and nothing waits for a clock.

The event loop, the broker's clock and the history's clock are one, and go on by `step` alone. Threads that sync are
real; under ASYNC_FLUSH the log is flushed every half second of the world's time, so that what a mode may lose is exact.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from functools import partial
from typing import Any, TypeVar
from unittest.mock import patch

from tests.fault.disk import Choose, SimDisk
from tests.fault.history.events import History
from tests.unit.broker.support import SMALL, Caller, FakeClock

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.config import BrokerConfig
from sprocketmq.config import from_properties
from sprocketmq.store.config import StoreConfig
from sprocketmq.store.store import MessageStore
from sprocketmq.store.timer.log import TimerLog
from sprocketmq.store.timer.wheel import TimerWheel

T = TypeVar("T")

#: Milliseconds of the world in one step, and turns of the loop.
STEP_MS, TURNS = 5, 3
FLUSH_MS = 500
#: Milliseconds of the world, and turns of the loop, that only a hang reaches; after some of them time goes quicker.
PATIENCE_MS, PATIENCE_TURNS = 600_000, 5_000_000
SLOW_MS = 30_000

SETTINGS = {
    **SMALL,
    "mappedFileSizeCommitLog": str(64 << 10),
    "mappedFileSizeConsumeQueue": str(20 * 300),
    "fileReservedTime": "72",
    "recallMessageEnable": "true",
    "flushConsumerOffsetInterval": "500",
    "flushDelayOffsetInterval": "500",
    "transactionCheckInterval": "3600000",
    "flushIntervalCommitLog": "600000",  # of real time: the world flushes
    "flushCommitLogThoroughInterval": "600000",
}


#: The timers' files as small as the others; RocketMQ's are 38 and 100 MiB, which a disk in memory would copy each time.
SMALL_TIMERS: dict[str, dict[str, Any]] = {
    "wheeled_timers": {"SLOTS": 4096},
    "timer_files": {
        "TimerWheel": partial(TimerWheel, slots=4096),
        "TimerLog": partial(TimerLog, file_size=52 * 200),
    },
}


class Stuck(Exception):
    """Nothing came of it for longer than anything may take."""


class World:
    """`mode` is SYNC_FLUSH or ASYNC_FLUSH. `lives` counts the starts of the broker.

    `awaits_disk` while no time passes because a thread is to catch up.
    """

    def __init__(self, mode: str, **settings: str) -> None:
        self.mode = mode
        self.settings = {**SETTINGS, **settings, "flushDiskType": mode}
        self.disk = SimDisk()
        self.clock = FakeClock()
        self.history = History(self.clock.monotonic_ms)
        self.lives = 0
        self.lost_power = False
        self.awaits_disk = False
        self.broker: Broker
        self._loop = asyncio.get_running_loop()
        self._loop.time = lambda: self.clock.monotonic_ms() / 1000  # type: ignore[method-assign]
        self._callers: list[Caller] = []
        self._flushed_ms = 0
        self._patches = ExitStack()
        for module, small in SMALL_TIMERS.items():
            self._patches.enter_context(patch.multiple(f"sprocketmq.broker.delay.{module}", **small))

    def close(self) -> None:
        """Time passes by itself again."""
        self._patches.close()
        del self._loop.time

    async def start(self) -> None:
        entries = {**self.settings, "storePathRootDir": str(self.disk.root)}
        self.broker = Broker(
            from_properties(BrokerConfig, entries), StoreConfig.from_properties(entries), files=self.disk,
            clock=self.clock,
        )  # fmt: skip
        self.lives += 1
        await self.until(self.broker.start())

    def caller(self) -> Caller:
        self._callers.append(Caller(self.broker))
        return self._callers[-1]

    async def step(self, ms: int = STEP_MS) -> None:
        for _ in range(TURNS):
            await asyncio.sleep(0)
        self.clock.now += ms
        now = self.clock.monotonic_ms()
        if self.mode == "ASYNC_FLUSH" and now - self._flushed_ms >= FLUSH_MS:
            self._flushed_ms = now
            self.broker.store.flusher.flush()

    async def run_for(self, ms: int) -> None:
        end = self.clock.monotonic_ms() + ms
        while self.clock.monotonic_ms() < end:
            await self.step()

    async def rest(self, ms: int) -> None:
        """Time passes quickly, and no thread falls behind it."""
        end = self.clock.monotonic_ms() + ms
        while self.clock.monotonic_ms() < end:
            await self.step(100)
            if self.broker.store.config.sync_flush:
                self.awaits_disk = True
                await self._dispatched(self.broker.store)
                self.awaits_disk = False

    async def _dispatched(self, store: MessageStore) -> None:
        turns = 0
        while _is_behind(store):
            await asyncio.sleep(0)  # the thread that flushes tells the broker alone
            turns += 1
            if store.failure is not None:
                break  # it tells nobody any more
            if turns > PATIENCE_TURNS:
                raise Stuck("what is written is never dispatched")

    async def until(self, work: Awaitable[T]) -> T:
        """Let time pass until the work is done."""
        task = asyncio.ensure_future(work)
        began = self.clock.monotonic_ms()
        while not task.done():
            waited = self.clock.monotonic_ms() - began
            if waited > PATIENCE_MS:
                task.cancel()
                raise Stuck(str(work))
            for _ in range(TURNS):
                await asyncio.sleep(0)
            self.clock.now += 1 if waited < SLOW_MS else STEP_MS
        return task.result()

    # -- faults --------------------------------------------------------------------------------------------------------

    async def stop_and_start(self) -> None:
        await self._replaced("stop", lambda: None)

    async def kill(self) -> None:
        """The process dies, the kernel lives."""
        await self._replaced("kill", self.disk.kill)

    async def cut_power(self, choose: Choose) -> None:
        self.lost_power = True
        await self._replaced("power", lambda: self.disk.power_cut(choose))

    async def jump(self, by_ms: int) -> None:
        """The wall clock is set."""
        call = self.history.begin("nemesis", "fault", kind="clock", by_ms=by_ms)
        self.clock.jump(by_ms)
        await self.step()
        call.ok()

    async def _replaced(self, kind: str, take: Callable[[], SimDisk | None]) -> None:
        call = self.history.begin("nemesis", "fault", kind=kind)
        after = take()
        await self._end()
        self.disk = after or self.disk
        await self.start()
        call.ok()

    async def _end(self) -> None:
        """What is left of the process ends; after a kill it does so on a disk that nobody will look at."""
        callers, self._callers = self._callers, []
        for caller in callers:
            await self.until(caller.client.close(grace=0.05))
        await self.until(self.broker.stop())

    async def end(self) -> None:
        await self._end()

    def abandon(self) -> None:
        """A start or a stop has failed, and its process is gone: what is left of it reaches the disk no more."""
        self.disk = self.disk.kill()
        store = getattr(self.broker, "store", None)
        if store is not None:
            store.abandon()


def _is_behind(store: MessageStore) -> bool:
    """Whether records wait for their dispatch. The blank before a file that nothing was written to yet is none."""
    end = store.log.max_offset
    return end % store.log.file_size > 0 and store.dispatcher.dispatched_offset < end
