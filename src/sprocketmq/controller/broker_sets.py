"""The broker sets of a leading controller: what the engine keeps, held in memory, and changed through it one at a time.

A change is decided by a rule on what is in memory, kept by the engine, and only then counts and is answered. Changes
come in one queue, as they arrived. When the engine's answer did not come, nobody knows what it keeps: everything is
loaded anew before the next change, and the rule is asked again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from sprocketmq.codes import ResponseCode
from sprocketmq.controller.broker_set import BrokerSet
from sprocketmq.controller.decisions import Living, Outcome, Rule
from sprocketmq.controller.engines import Engine, EngineFailed
from sprocketmq.errors import RequestRefused
from sprocketmq.logs import Events

events = Events("sprocketmq.controller.sets")

#: Sets of one controller, and changes that may wait.
MAX_SETS = 4096
MAX_WAITING = 1024


class BrokerSets:
    """`living` tells which replicas of a set live now."""

    def __init__(self, engine: Engine, living: Callable[[BrokerSet], Living]) -> None:
        self._engine = engine
        self._living = living
        self._records: dict[str, BrokerSet] = {}
        self._turn = asyncio.Lock()  # waiters are let in as they came
        self._waiting = 0
        self._doubtful = True
        self.swaps = 0
        self.failures = 0

    def __iter__(self) -> Iterator[BrokerSet]:
        return iter(tuple(self._records.values()))

    def __len__(self) -> int:
        return len(self._records)

    def get(self, name: str) -> BrokerSet | None:
        return self._records.get(name)

    def living(self, record: BrokerSet) -> Living:
        return self._living(record)

    async def reload(self) -> None:
        self._doubtful = True
        async with self._turn:
            await self._load()

    async def change(self, name: str, rule: Rule, tries: int = 3) -> Outcome:
        """What became of it; EngineFailed when it could not be kept, NotLeading when another leads."""
        if self._waiting >= MAX_WAITING:
            raise RequestRefused(ResponseCode.SYSTEM_BUSY, f"[OVERLOAD]{MAX_WAITING} changes are waiting")
        self._waiting += 1
        try:
            async with self._turn:
                return await self._change(name, rule, tries)
        finally:
            self._waiting -= 1

    async def _change(self, name: str, rule: Rule, tries: int) -> Outcome:
        while True:
            tries -= 1
            try:
                return await self._try(name, rule)
            except EngineFailed as error:
                self.failures += 1
                events.warning("engine failed", broker=name, reason=error, tries_left=tries)
                if tries <= 0:
                    raise

    async def _try(self, name: str, rule: Rule) -> Outcome:
        if self._doubtful:
            await self._load()
        before = self._records.get(name)
        outcome = rule(before, {} if before is None else self._living(before))
        if outcome.record == before:
            return outcome
        if before is None and len(self._records) >= MAX_SETS:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"there are {MAX_SETS} broker sets already")
        self._doubtful = True  # until the engine has answered, whatever keeps it from doing so
        await self._engine.swap(before, outcome.record)
        self._doubtful = False
        self.swaps += 1
        if outcome.record is None:
            del self._records[name]
        else:
            self._records[name] = outcome.record
        return outcome

    async def _load(self) -> None:
        self._records = await self._engine.load()
        self._doubtful = False
