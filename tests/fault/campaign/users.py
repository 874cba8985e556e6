"""What users do, each a process with one call at a time, every call in the history.

A user lives as long as its broker does: at a fault it is cancelled, and the call that was under way stays open. What
must outlive it, such as the commit record of a sink, is in `Memory`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.fault.campaign.messages import body_of, properties_of, uid_of
from tests.fault.campaign.world import World
from tests.fault.history.events import OpenCall
from tests.unit.broker.support import Caller, fields, records
from tests.unit.protocol.batches import encode_batch

from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.locks import LockBatchRequestBody, LockBatchResponseBody, UnlockBatchRequestBody
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.record.properties import POP_CK, decode_properties, encode_properties
from sprocketmq.protocol.record.record import Record
from sprocketmq.protocol.record.sysflag import TRANSACTION_COMMIT, TRANSACTION_ROLLBACK

QUEUES = 2
PLAIN, DELETED, PAID, LATER, POPPED, SINK = "Plain", "Deleted", "Paid", "Later", "Popped", "Sink"
TOPICS = (PLAIN, DELETED, PAID, LATER, POPPED, SINK)
GROUP, POP_GROUP, RETRY_GROUP = "G", "PopG", "RetryG"
INVISIBLE_MS = 3000
LEASE_MS = 60_000
HEARTBEAT_SECONDS = 30.0
#: The delay levels that are used, with their times.
LEVELS = {"1": 1000, "2": 5000}
#: Answers that say for certain that nothing was stored.
REFUSED = frozenset({ResponseCode.TOPIC_NOT_EXIST, ResponseCode.MESSAGE_ILLEGAL, ResponseCode.NO_PERMISSION})


@dataclass
class Memory:
    """What users know beyond a restart of the broker."""

    numbers: int = 0
    #: Batches of the sink whose commit record is written: places of their half messages, by batch.
    decided: dict[int, list[dict[str, int]]] = field(default_factory=dict)
    batch: int = 0

    def uid(self, process: str) -> str:
        self.numbers += 1
        return f"{process}-{self.numbers}"


class Users:
    """`jumps`: the wall clock is set now and then, so that nobody can say how long a delay takes.

    Between two calls a user waits `pace` times as long as one in a hurry.
    """

    def __init__(
        self, world: World, seed: str, *, jumps: bool = False, memory: Memory | None = None, pace: float = 1.0
    ) -> None:
        self.world = world
        self.memory = memory or Memory()
        self._seed = seed
        self._jumps = jumps
        self._pace = pace
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        kinds: list[Callable[[User], Awaitable[None]]] = [
            User.produce, User.produce, User.consume, User.consume, User.replace_topic, User.pay, User.delay, User.pop,
            User.lock, User.lock, User.sink, User.send_back,
        ]  # fmt: skip
        for number, kind in enumerate(kinds):
            name = f"{kind.__name__}{number}.{self.world.lives}"
            user = User(self.world, name, Random(f"{self._seed}/{name}"), self.memory, self._jumps)
            self._tasks.append(asyncio.ensure_future(user.live(kind, self._pace)))

    async def cancel(self) -> None:
        """They are gone at once; nobody hears an answer any more."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome


class User:
    def __init__(self, world: World, name: str, random: Random, memory: Memory, jumps: bool) -> None:
        self.world = world
        self.name = name
        self.random = random
        self.memory = memory
        self.jumps = jumps
        self.caller: Caller = world.caller()
        self.offsets: dict[int, int] = {}
        self.group = f"{GROUP}-{name.partition('.')[0]}"  # it outlives its members

    async def live(self, kind: Callable[[User], Awaitable[None]], pace: float) -> None:
        now, heard = asyncio.get_running_loop().time, float("-inf")
        while True:
            if now() - heard >= HEARTBEAT_SECONDS:  # who is not heard of is disconnected
                heard = now()
                await self.caller.heartbeat(self.group, self.name)
            await kind(self)
            await asyncio.sleep(pace * self.random.choice((0.0, 0.01, 0.05, 0.2)))

    def begin(self, call: str, **said: Any) -> OpenCall:
        return self.world.history.begin(self.name, call, **said)

    @asynccontextmanager
    async def told(self, call: str, **said: Any) -> AsyncIterator[OpenCall]:
        """A call that is `ok` when the body ends without another verdict."""
        began = self.begin(call, **said)
        yield began
        if began.call.ended_ms > 1 << 60:
            began.ok()

    # -- sends ---------------------------------------------------------------------------------------------------------

    async def produce(self) -> None:
        topic = self.random.choice((PLAIN, PLAIN, DELETED, POPPED))
        uids = [self.memory.uid(self.name) for _ in range(self.random.choice((1, 1, 1, 5)))]
        await self.send(topic, self.random.randrange(QUEUES), uids)

    async def send(self, topic: str, queue: int, uids: list[str]) -> int | None:
        """Where the first lies; None when nobody can say."""
        call = self.begin("send", topic=topic, queue=queue, uids=uids)
        answer = await self._store(topic, queue, uids)
        if answer.code != ResponseCode.SUCCESS:
            (call.fail if answer.code in REFUSED else call.info)(code=int(answer.code))
            return None
        offset = int(fields(answer)["queueOffset"])
        call.ok(offset=offset)
        return offset

    async def _store(self, topic: str, queue: int, uids: list[str]) -> Command:
        if len(uids) == 1:
            (uid,) = uids
            return await self.caller.send(topic, body_of(uid), queue, **_named(uid))
        entries = [(0, body_of(uid), encode_properties(_named(uid)).encode()) for uid in uids]
        code = RequestCode.SEND_BATCH_MESSAGE
        return await self.caller.send(topic, encode_batch(entries), queue, code=code, WAIT="true")

    async def replace_topic(self) -> None:
        """Deletes it; the next send makes it anew."""
        await asyncio.sleep(self.random.uniform(0.2, 1.5))
        call = self.begin("delete", topic=DELETED)
        answer = await self.caller(RequestCode.DELETE_TOPIC_IN_BROKER, topic=DELETED)
        call.ok() if answer.code == ResponseCode.SUCCESS else call.info(code=int(answer.code))

    # -- reads ---------------------------------------------------------------------------------------------------------

    async def consume(self) -> None:
        """Commits after every read, however little came."""
        topic, queue = self.random.choice((PLAIN, PAID, LATER, SINK)), self.random.randrange(QUEUES)
        key = TOPICS.index(topic) * QUEUES + queue
        if key not in self.offsets or self.random.random() < 0.1:
            self.offsets[key] = await self.fetch(topic, queue) or 0
        end = await read(self.world, self.caller, self.name, topic, queue, self.offsets[key], group=self.group)
        if end is not None and end >= self.offsets[key]:
            self.offsets[key] = end
            await self.commit(topic, queue, end)

    async def commit(self, topic: str, queue: int, offset: int) -> None:
        call = self.begin("commit", group=self.group, topic=topic, queue=queue, offset=offset)
        header = {"consumerGroup": self.group, "topic": topic, "queueId": queue, "commitOffset": offset}
        answer = await self.caller.call(RequestCode.UPDATE_CONSUMER_OFFSET, header)
        call.ok() if answer.code == ResponseCode.SUCCESS else call.info(code=int(answer.code))

    async def fetch(self, topic: str, queue: int) -> int | None:
        call = self.begin("fetch", group=self.group, topic=topic, queue=queue)
        header = {"consumerGroup": self.group, "topic": topic, "queueId": queue, "setZeroIfNotFound": False}
        answer = await self.caller.call(RequestCode.QUERY_CONSUMER_OFFSET, header)
        offset = int(fields(answer)["offset"]) if answer.code == ResponseCode.SUCCESS else None
        call.ok(offset=offset)
        call = self.begin("end", topic=topic, queue=queue)
        answer = await self.caller(RequestCode.GET_MAX_OFFSET, topic=topic, queueId=queue)
        if answer.code == ResponseCode.SUCCESS:
            call.ok(offset=int(fields(answer)["offset"]))
        else:
            call.info(code=int(answer.code))
        return offset

    # -- transactions --------------------------------------------------------------------------------------------------

    async def pay(self) -> None:
        uid = self.memory.uid(self.name)
        call = self.begin("half", topic=PAID, uid=uid)
        place = await self._half(PAID, uid)
        if place is None:
            call.info()
            return
        call.ok()
        commit = self.random.random() < 0.7
        if self.random.random() < 0.8:
            call = self.begin("decide", uid=uid, commit=commit)
            done = await self._end(place, TRANSACTION_COMMIT if commit else TRANSACTION_ROLLBACK)
            call.ok() if done else call.info()

    async def sink(self) -> None:
        """One exactly-once batch: half messages first, then its commit record, then every transaction is ended."""
        batch = self.memory.batch
        uids = [f"row-{batch}-{number}" for number in range(4)]
        call = self.begin("sink", topic=SINK, query="q", batch=batch, uids=uids)
        places = self.memory.decided.get(batch)
        if places is None:
            halves = [await self._half(SINK, uid) for uid in uids]
            places = [place for place in halves if place is not None]
            if len(places) < len(uids):
                call.info()
                return
            self.memory.decided[batch] = places
        done = [await self._end(place, TRANSACTION_COMMIT) for place in places]
        if all(done):
            self.memory.batch += 1
            call.ok()
        else:
            call.info()
            if (
                self.world.mode == "ASYNC_FLUSH" and self.world.lost_power
            ):  # its half messages may be gone, as this mode allows
                self.memory.batch += 1

    async def _half(self, topic: str, uid: str) -> dict[str, int] | None:
        queue = self.random.randrange(QUEUES)
        more: dict[str, Any] = {"TRAN_MSG": "true", "PGROUP": "PG"}
        answer = await self.caller.send(topic, body_of(uid), queue, sys_flag=4, **_named(uid), **more)
        if answer.code != ResponseCode.SUCCESS:
            return None
        found = fields(answer)
        return {"commitLogOffset": int(found["msgId"][16:], 16), "tranStateTableOffset": int(found["queueOffset"])}

    async def _end(self, place: dict[str, int], verdict: int) -> bool:
        header = {"producerGroup": "PG", "commitOrRollback": verdict, "msgId": "M", **place}
        return (await self.caller.call(RequestCode.END_TRANSACTION, header)).code == ResponseCode.SUCCESS

    # -- what the broker brings by itself ------------------------------------------------------------------------------

    async def delay(self) -> None:
        uid, queue = self.memory.uid(self.name), self.random.randrange(QUEUES)
        level = self.random.choice(list(LEVELS))
        timed, takes = self.random.random() < 0.5, LEVELS[level]
        asked: dict[str, Any] = {"TIMER_DELAY_MS": str(takes)} if timed else {"DELAY": level}
        call = self.begin("delay", topic=LATER, uid=uid, delay_ms=0 if self.jumps else takes, timed=timed)
        answer = await self.caller.send(LATER, body_of(uid), queue, **_named(uid), **asked)
        if answer.code != ResponseCode.SUCCESS:
            call.info(code=int(answer.code))
            return
        call.ok()
        if timed and self.random.random() < 0.3:
            await self._recall(uid, fields(answer)["recallHandle"])

    async def _recall(self, uid: str, handle: str) -> None:
        call = self.begin("recall", uid=uid)
        answer = await self.caller(RequestCode.RECALL_MESSAGE, topic=LATER, recallHandle=handle)
        call.ok() if answer.code == ResponseCode.SUCCESS else call.info(code=int(answer.code))

    async def pop(self) -> None:
        for record, extra in await pop(self.world, self.caller, self.name):
            choice = self.random.random()
            if choice < 0.3:
                await self._renew(record, extra)
            elif choice < 0.9:
                await ack(self.world, self.caller, self.name, record, extra)

    async def _renew(self, record: Record, extra: str) -> None:
        longer = INVISIBLE_MS * 2
        call = self.begin("renew", group=POP_GROUP, uid=uid_of(record), invisible_ms=longer)
        answer = await self.caller(
            RequestCode.CHANGE_MESSAGE_INVISIBLETIME, consumerGroup=POP_GROUP, topic=POPPED, queueId=record.queue_id,
            offset=record.queue_offset, extraInfo=extra, invisibleTime=longer,
        )  # fmt: skip
        call.ok() if answer.code == ResponseCode.SUCCESS else call.info(code=int(answer.code))

    async def send_back(self) -> None:
        """A consumer that could not handle a message."""
        uid = self.memory.uid(self.name)
        offset = await self.send(PLAIN, 0, [uid])
        if offset is None:
            return
        answer = await self.caller.pull(PLAIN, offset, group=RETRY_GROUP, count=1, sys_flag=4)
        found = records(answer) if answer.code == ResponseCode.SUCCESS else []
        if not found or uid_of(found[0]) != uid:
            return
        call = self.begin("retry", group=RETRY_GROUP, uid=uid)
        answer = await self.caller(
            RequestCode.CONSUMER_SEND_MSG_BACK, offset=found[0].commit_offset, group=RETRY_GROUP, delayLevel=1,
            originMsgId="M", originTopic=PLAIN, unitMode=False, maxReconsumeTimes=16,
        )  # fmt: skip
        call.ok() if answer.code == ResponseCode.SUCCESS else call.info(code=int(answer.code))

    async def lock(self) -> None:
        queue = MessageQueue("Orderly", "broker-a", 0)
        call = self.begin("lock", group=GROUP, topic="Orderly", queue=0, lease_ms=LEASE_MS)
        asked = LockBatchRequestBody(consumer_group=GROUP, client_id=self.name, mq_set=frozenset({queue}))
        answer = await self.caller(RequestCode.LOCK_BATCH_MQ, codec.encode(asked))
        if not codec.decode(LockBatchResponseBody, answer.body).lock_okmqset:
            call.fail()
            return
        call.ok()
        await asyncio.sleep(self.random.uniform(0, 0.3))
        call = self.begin("unlock", group=GROUP, topic="Orderly", queue=0)
        free = UnlockBatchRequestBody(consumer_group=GROUP, client_id=self.name, mq_set=frozenset({queue}))
        await self.caller(RequestCode.UNLOCK_BATCH_MQ, codec.encode(free))
        call.ok()


def _named(uid: str) -> dict[str, Any]:
    return {**properties_of(uid), "UNIQ_KEY": uid.upper().replace("-", "").replace(".", "").rjust(32, "0")}


async def read(
    world: World, caller: Caller, who: str, topic: str, queue: int, at: int, *, final: bool = False, group: str = GROUP
) -> int | None:
    """One pull; where to go on, or None when the topic is not there."""
    call = world.history.begin(who, "read", topic=topic, queue=queue, at=at, final=final)
    answer = await caller.pull(topic, at, queue_id=queue, group=group, sys_flag=4)
    if answer.code == ResponseCode.PULL_OFFSET_MOVED:
        call.info(code=int(answer.code))
        return int(fields(answer)["nextBeginOffset"])
    if answer.code not in (ResponseCode.SUCCESS, ResponseCode.PULL_NOT_FOUND):
        call.info(code=int(answer.code))
        return None
    found = records(answer) if answer.code == ResponseCode.SUCCESS else []
    upto = int(fields(answer)["nextBeginOffset"]) if found else at
    call.ok(found=[(record.queue_offset, uid_of(record)) for record in found], upto=upto)
    return upto


async def pop(
    world: World, caller: Caller, who: str, *, final: bool = False, invisible_ms: int = INVISIBLE_MS
) -> list[tuple[Record, str]]:
    """What was taken, each with the extra info that it is acknowledged by."""
    call = world.history.begin(who, "pop", group=POP_GROUP, topic=POPPED, invisible_ms=invisible_ms, final=final)
    answer = await caller(
        RequestCode.POP_MESSAGE, consumerGroup=POP_GROUP, topic=POPPED, queueId=-1, maxMsgNums=8,
        invisibleTime=invisible_ms, pollTime=0, bornTime=0, initMode=0, expType="TAG", exp="*", order=False,
    )  # fmt: skip
    if answer.code not in (ResponseCode.SUCCESS, ResponseCode.POLLING_TIMEOUT):
        call.info(code=int(answer.code))
        return []
    found = records(answer) if answer.code == ResponseCode.SUCCESS else []
    said = fields(answer)
    starts = dict(part.split(" ")[1:] for part in (said.get("startOffsetInfo") or "").split(";") if part[:1] == "0")
    taken = []
    for record in found:
        own = decode_properties(record.properties).get(POP_CK)
        start = starts.get(str(record.queue_id))
        built = (
            f"{start} {said.get('popTime')} {said.get('invisibleTime')} {said.get('reviveQid')} 0 broker-a "
            f"{record.queue_id} {record.queue_offset}"
        )
        taken.append((record, own or built))
    copies = [" ".join(extra.split(" ")[4:8]) for _, extra in taken]
    call.ok(uids=[uid_of(record) for record in found], copies=copies)
    return taken


async def ack(world: World, caller: Caller, who: str, record: Record, extra: str) -> None:
    call = world.history.begin(who, "ack", group=POP_GROUP, uid=uid_of(record))
    answer = await caller(
        RequestCode.ACK_MESSAGE, consumerGroup=POP_GROUP, topic=POPPED, queueId=record.queue_id,
        offset=record.queue_offset, extraInfo=extra,
    )  # fmt: skip
    call.ok() if answer.code == ResponseCode.SUCCESS else call.info(code=int(answer.code))
