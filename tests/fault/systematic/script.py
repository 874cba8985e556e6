"""What users do with one broker, step by step and always the same: a fault can be put at every place of it.

Sends, batches, reads, commits, a topic that is deleted and made again, transactions, a batch of the exactly-once sink,
delays, timers, a recall, POP, a message that is sent back, a lock, a pull that waits; a clean stop in the middle, and
another fault at the end. Beside the users are a nameserver, a slave and somebody who scrapes the metrics. The fault
itself may be met by any of it, also by the start and the stop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from random import Random

from tests.fault.campaign.story import finish_sink, look
from tests.fault.campaign.users import DELETED, PAID, PLAIN, POPPED, Memory, User
from tests.fault.campaign.world import FLUSH_MS, Stuck, World
from tests.fault.disk import Faults, keep_nothing
from tests.fault.history.checker import check
from tests.fault.history.findings import Finding, Promises
from tests.fault.systematic.neighbours import Neighbours
from tests.unit.broker.support import fields

from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import ConnectionLost, RequestTimeout, SprocketError

#: Whose warnings come with every restart.
NEIGHBOURS = ("sprocketmq.broker.replication", "sprocketmq.broker.registration")
#: Long enough for the tables, the offsets and the log to be saved.
PAUSE_MS = 700
#: Thrice as long at the end: for every delay, timer and invisible time of the script; nobody sets the clock here.
QUIET_MS = 10_000


class Signs(logging.Handler):
    """What an operator is told while the script runs; that neighbours come and go is no sign of a fault."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno < logging.ERROR and record.name.startswith(NEIGHBOURS):
            return
        cause = record.exc_info[1] if record.exc_info else ""
        self.lines.append(f"{record.levelname} {record.name}: {record.getMessage()} {cause!r}")


@contextmanager
def signs() -> Iterator[Signs]:
    handler, logger = Signs(), logging.getLogger()
    logger.addHandler(handler)
    try:
        yield handler
    finally:
        logger.removeHandler(handler)


class Play:
    """One performance. `ending` is stop, kill or power; `met` are the faults that the script has met.

    In `company` no fault excuses anything: it may be the excuse for another that is no excuse. And a broker whose store
    has failed is started again when users have been at it for another step, where it is left alone otherwise.
    """

    def __init__(self, mode: str, ending: str, *, company: bool = False) -> None:
        self.ending = ending
        self.company = company
        self.neighbours = Neighbours()
        #: Of real time: the thread is seen at work.
        self.world = World(mode, flushIntervalConsumeQueue="30", **self.neighbours.settings)
        self.memory = Memory()
        self.met: list[str] = []
        #: Called with the broker at work, before each of its ends.
        self.before_end: Callable[[], object] = lambda: None
        self.refused_starts = 0
        self.failed_stops = 0

    async def perform(self, before: Callable[[Play], object]) -> list[Finding]:
        """`before` is called with the broker not yet started; what breaks a promise is returned."""
        world = self.world
        try:
            await world.until(self.neighbours.start())
            before(self)
            await self._start()
            await self._act("first")
            await self._stop_and_start()
            await self._act("second")
            self.before_end()
            await self._end()
            self._heal()
            await finish_sink(world, self.memory, Random(0))
            await self._serves()
            await look(world, QUIET_MS)
            await world.end()
            await self.neighbours.close(world)
        except (Stuck, RequestTimeout) as stuck:
            with suppress(Stuck, OSError, SprocketError):
                await world.end()
                await self.neighbours.close(world)
            return [Finding("stuck", str(stuck))]
        finally:
            world.close()
        return check(world.history, self._promises())

    def met_fault(self, what: str) -> None:
        """Called where the fault happens, on whatever thread that is."""
        self.met.append(what)
        self.world.history.begin("nemesis", "fault", kind="error", what=what).ok()

    def _promises(self) -> Promises:
        """ASYNC_FLUSH may lose by a power cut what was not flushed; a sync that failed has flushed nothing."""
        window = 2 * FLUSH_MS + 2 * PAUSE_MS
        lost = {"power": window, "error": window} if (self.world.mode, self.ending) == ("ASYNC_FLUSH", "power") else {}
        promises = Promises(may_lose_ms=lost, early_ms=1100)
        if self.company:
            lost.pop("error", None)
            promises = replace(promises, repeats=promises.repeats - {"error"})
        return promises

    @property
    def has_failed(self) -> bool:
        """Whether the store takes no more messages until its next start, so that nothing more is promised."""
        store = getattr(getattr(self.world, "broker", None), "store", None)
        return store is not None and store.failure is not None

    def _heal(self) -> None:
        self.world.disk.faults = Faults()

    # -- the broker's life ---------------------------------------------------------------------------------------------

    async def _start(self) -> None:
        """A start that is refused is told to whoever made it, who makes another: one for each fault at most."""
        while True:
            try:
                await self.world.start()
                return
            except (OSError, SprocketError) as error:
                if self.refused_starts >= len(self.met):
                    raise
                self.refused_starts += 1
                self.world.abandon()
                logging.getLogger("tests.fault").warning("start refused: %s", error)

    async def _stop_and_start(self) -> None:
        self.before_end()
        call = self.world.history.begin("nemesis", "fault", kind="stop")
        if not await self._stopped():
            call.call.fields["kind"] = "kill"  # the process has ended, and not as it should
        await self._start()
        call.ok()

    async def _stopped(self) -> bool:
        try:
            await self.world.end()
        except (OSError, SprocketError) as error:
            self.failed_stops += 1
            self.world.abandon()
            logging.getLogger("tests.fault").warning("stop failed: %s", error)
            return False
        return True

    async def _end(self) -> None:
        if self.ending == "stop":
            await self._stop_and_start()
            return
        call = self.world.history.begin("nemesis", "fault", kind=self.ending)
        self.world.lost_power = self.ending == "power"
        self._heal()
        after = self.world.disk.power_cut(keep_nothing) if self.ending == "power" else self.world.disk.kill()
        await self._stopped()
        self.world.disk = after
        await self._start()
        call.ok()

    # -- what users do -------------------------------------------------------------------------------------------------

    async def _act(self, part: str) -> None:
        random, was_failed = Random(part), False
        user = User(self.world, part, random, self.memory, False)
        for step in (
            self._follow, self._send, self._read, self._scrape, self._wait, self._poll, User.sink, self._pay,
            self._delay, self._wait, self._pop,
            User.send_back, self._replace, self._read, User.lock, self._wait, self._pop, self._send,
        ):  # fmt: skip
            try:
                await self.world.until(step(user))
            except ConnectionLost:  # in the place of an answer that could not be given: the call stays open
                if not self.met:
                    raise
            if self.company and was_failed and self.has_failed:
                await self._stop_and_start()  # or nothing of the company that is left would be met
                user = User(self.world, part, random, self.memory, False)
            was_failed = self.has_failed

    async def _send(self, user: User) -> None:
        for topic, queue, count in ((PLAIN, 0, 1), (PLAIN, 1, 5), (POPPED, 0, 1), (POPPED, 1, 3), (DELETED, 0, 1)):
            await user.send(topic, queue, [self.memory.uid(user.name) for _ in range(count)])

    async def _read(self, user: User) -> None:
        for _ in range(4):
            await user.consume()

    async def _pay(self, user: User) -> None:
        for _ in range(3):
            await user.pay()

    async def _delay(self, user: User) -> None:
        for _ in range(4):
            await user.delay()

    async def _pop(self, user: User) -> None:
        for _ in range(2):
            await user.pop()

    async def _replace(self, user: User) -> None:
        call = user.begin("delete", topic=DELETED)
        answer = await user.caller(RequestCode.DELETE_TOPIC_IN_BROKER, topic=DELETED)
        call.ok() if answer.code == ResponseCode.SUCCESS else call.info(code=int(answer.code))
        await user.send(DELETED, 0, [self.memory.uid(user.name)])

    async def _follow(self, _user: User) -> None:
        await self.neighbours.follow(self.world)

    async def _scrape(self, _user: User) -> None:
        await self.neighbours.scrape(self.world)

    async def _poll(self, user: User) -> None:
        """A pull waits until a message comes, or for as long as it may."""
        end = await user.caller(RequestCode.GET_MAX_OFFSET, topic=PLAIN, queueId=0)
        if end.code != ResponseCode.SUCCESS:
            return
        asked = int(fields(end)["offset"])
        waiting = asyncio.ensure_future(user.caller.pull(PLAIN, asked, group="Polling", sys_flag=6, suspend_ms=3000))
        await asyncio.sleep(0.05)
        await user.send(PLAIN, 0, [self.memory.uid(user.name)])
        await waiting

    async def _wait(self, _user: User) -> None:
        await self.world.run_for(PAUSE_MS)

    async def _serves(self) -> None:
        """Whatever has happened, the broker that was started after it takes messages."""
        user = User(self.world, "after", Random(0), self.memory, False)
        offset = await self.world.until(user.send(PAID, 0, [self.memory.uid("after")]))
        if offset is None:
            raise Stuck("no message is taken after the restart")
