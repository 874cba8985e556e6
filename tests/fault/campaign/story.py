"""One story: users at work, faults, and at the end everything that is left, in one history.

The same seed tells the same story, but for the threads that sync.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from random import Random

from tests.fault.campaign.users import (
    POPPED,
    QUEUES,
    RETRY_GROUP,
    TOPICS,
    Memory,
    User,
    Users,
    ack,
    pop,
    read,
)
from tests.fault.campaign.world import FLUSH_MS, Stuck, World
from tests.fault.disk import keep_nothing, keep_some
from tests.fault.history.checker import check
from tests.fault.history.events import History
from tests.fault.history.findings import Finding, Promises
from tests.unit.broker.support import fields

from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RequestTimeout

#: Everything waits for thrice as long in the end: for every delay, timer and invisible time of the users, and for a
#: clock that was set back each time.
QUIET_MS = 30_000
JUMP_MS = 20_000


@dataclass(frozen=True)
class Script:
    """Which faults come, `faults` of them, each after `busy_ms` of work at most; `settings` as in a broker.conf."""

    mode: str
    seed: int
    faults: int = 4
    kinds: tuple[str, ...] = ("kill", "power", "stop")
    busy_ms: int = 1500
    jumps: bool = False
    settings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Told:
    history: History
    findings: list[Finding]
    cycles: int


async def tell(script: Script) -> Told:
    """Raises what ends the broker or a user, which nothing of this may. What never ends is a finding: `stuck`."""
    random = Random(f"{script.mode}/{script.seed}")
    world = World(script.mode, **dict(script.settings))
    try:
        await world.start()
        memory = Memory()
        for number in range(script.faults):
            users = Users(world, f"{script.seed}/{number}", jumps=script.jumps, memory=memory)
            users.start()
            await world.run_for(random.randrange(100, script.busy_ms))
            if script.jumps:
                await world.jump(random.choice((-JUMP_MS, JUMP_MS)))
                await world.run_for(random.randrange(100, script.busy_ms))
            await _fault(world, users, random.choice(script.kinds), random)
        await finish_sink(world, memory, random)
        await look(world)
        await world.end()
    except (Stuck, RequestTimeout) as stuck:
        with suppress(Stuck):
            await world.end()
        return Told(world.history, [Finding("stuck", str(stuck))], script.faults)
    finally:
        world.close()
    return Told(world.history, check(world.history, promises_of(script)), script.faults)


def promises_of(script: Script) -> Promises:
    """POP names times of day to its clients, so a clock that is set may show a message early, as with RocketMQ."""
    lost = {"power": 2 * FLUSH_MS} if script.mode == "ASYNC_FLUSH" else {}
    if lost and ("transientStorePoolEnable", "true") in script.settings:
        lost["kill"] = lost["power"]  # what was not committed is in the memory of the process alone
    repeats = Promises.repeats | {"clock"} if script.jumps else Promises.repeats
    return Promises(may_lose_ms=lost, repeats=repeats, early_ms=1100)


async def _fault(world: World, users: Users, kind: str, random: Random) -> None:
    if kind == "power":
        # The machine is off while calls are under way: nobody hears what comes after.
        choose = keep_nothing if random.random() < 0.5 else keep_some(random, share=random.choice((0.1, 0.5, 0.9)))
        await users.cancel()
        await world.cut_power(choose)
    else:
        await users.cancel()
        await (world.kill() if kind == "kill" else world.stop_and_start())


async def finish_sink(world: World, memory: Memory, random: Random) -> None:
    """Spark runs its last batch again until it is committed."""
    user = User(world, f"sink.{world.lives}", random, memory, False)
    batch = memory.batch
    for _ in range(20):
        await world.until(user.sink())
        if memory.batch > batch:
            return


async def look(world: World, quiet_ms: int = QUIET_MS) -> None:
    """Wait until everything has come, then read every queue from its beginning and pop what is left."""
    await world.rest(quiet_ms)
    caller = world.caller()
    for again in range(3):
        taken = await world.until(pop(world, caller, f"look{again}"))
        while taken:
            for record, extra in taken:
                await world.until(ack(world, caller, f"look{again}", record, extra))
            taken = await world.until(pop(world, caller, f"look{again}"))
        if again < 2:
            await world.rest(quiet_ms)
    await world.until(pop(world, caller, "look", final=True))
    for topic in (*TOPICS, f"%RETRY%{RETRY_GROUP}"):
        for queue in range(1 if topic.startswith("%") else QUEUES):
            await world.until(_read_all(world, topic, queue))


async def _read_all(world: World, topic: str, queue: int) -> None:
    """As one read, however many pulls it takes."""
    caller, at = world.caller(), 0
    answer = await caller(RequestCode.GET_MIN_OFFSET, topic=topic, queueId=queue)
    if answer.code != ResponseCode.SUCCESS:
        if topic != POPPED:
            world.history.begin("look", "read", topic=topic, queue=queue, at=0, final=True).ok(found=[], upto=0)
        return
    at = int(fields(answer)["offset"])
    parts: list[tuple[int, str]] = []
    call = world.history.begin("look", "read", topic=topic, queue=queue, at=at, final=True)
    history, world.history = world.history, History(world.clock.monotonic_ms)
    try:
        begin = at
        while (end := await read(world, caller, "part", topic, queue, begin)) is not None and end > begin:
            parts += world.history.calls[-1].fields.get("found", [])
            begin = end
    finally:
        world.history = history
    call.ok(found=parts, upto=begin)
