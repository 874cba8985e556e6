"""Brokers with one bug each, for the campaign to find: what it does not find here it would not find elsewhere.

Each is a way that a broker has lost, doubled or mixed up messages: most were found in this one, or in RocketMQ's.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any
from unittest.mock import patch

from tests.fault.campaign.messages import body_of
from tests.fault.campaign.story import Script
from tests.fault.campaign.users import _named
from tests.fault.campaign.world import World
from tests.fault.disk import Node, SimDisk, SimFile
from tests.unit.protocol.batches import encode_batch

from sprocketmq.broker.delay.levels import Schedule
from sprocketmq.broker.delay.recall import Recalls
from sprocketmq.broker.delay.timer import Timer
from sprocketmq.broker.pop.acks import PopAcks
from sprocketmq.broker.pop.revive import Revive
from sprocketmq.broker.retry.consumer_retry import Retries
from sprocketmq.broker.send.durable_acks import Acks
from sprocketmq.broker.system_topics.safe_answers import SafeAnswers
from sprocketmq.broker.tables.offsets import ConsumerOffsets
from sprocketmq.broker.tables.queue_locks import QueueLocks
from sprocketmq.broker.transaction.handler import Transactions
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.record.properties import encode_properties
from sprocketmq.protocol.record.sysflag import TRANSACTION_COMMIT
from sprocketmq.remoting import Connection
from sprocketmq.store.files.config_files import ConfigFile
from sprocketmq.store.files.deleted_topics import DeletedTopics
from sprocketmq.store.store import MessageStore

POWER = Script("SYNC_FLUSH", 0, faults=3, kinds=("power",))
KILL = Script("SYNC_FLUSH", 0, faults=2, kinds=("kill",))
STOP = Script("SYNC_FLUSH", 0, faults=2, kinds=("stop",))
CALM = Script("ASYNC_FLUSH", 0, faults=1, kinds=("stop",), busy_ms=4000)


#: A world whose clock does not move for so long waits for a thread.
_STANDSTILL_S = 0.2


@dataclass(frozen=True)
class Bug:
    """`plant` makes the broker have it; the campaign must find one of `rules` within a few seeds of `script`."""

    name: str
    script: Script
    rules: frozenset[str]
    plant: Callable[[], Any]


BUGS: list[Bug] = []


def bug(script: Script, *rules: str) -> Callable[[Callable[[], Iterator[None]]], None]:
    def add(plant: Callable[[], Iterator[None]]) -> None:
        BUGS.append(Bug(plant.__name__, script, frozenset(rules), contextmanager(plant)))

    return add


@contextmanager
def _slow_disk(world_ms: int = 150) -> Iterator[None]:
    """So that what is not safe yet stays so for a while: of the world's time, however fast the machine is."""
    sync, start = SimDisk.sync_node, World.start
    worlds: list[World] = []

    async def noted(self: World) -> None:
        worlds[:] = [self]
        await start(self)

    def slowly(self: SimDisk, node: Node) -> None:
        if threading.current_thread() is not threading.main_thread():  # that one is the world
            _wait(worlds[-1], world_ms)
        sync(self, node)

    with patch.object(World, "start", noted), patch.object(SimDisk, "sync_node", slowly):
        yield


def _wait(world: World, world_ms: int) -> None:
    """Until so much of the world's time is over, or the world waits for this thread."""
    clock = world.clock
    end, last, moved = clock.now + world_ms, clock.now, time.monotonic()
    while clock.now < end and not world.awaits_disk and time.monotonic() - moved < _STANDSTILL_S:
        if clock.now != last:
            last, moved = clock.now, time.monotonic()
        time.sleep(0.001)


@bug(POWER, "lost-postfix", "lost-middle", "vanished", "inconsistent", "undelivered", "never-popped", "torn-batch")
def sends_are_answered_before_the_flush() -> Iterator[None]:
    def add(
        _self: Acks, _end: int, connection: Connection, request: Command, success: bytes, _counter: object = None
    ) -> None:
        connection.reply(success, request)

    with patch.object(Acks, "add", add), _slow_disk():
        yield


@bug(POWER, "lost-commit", "torn-batch", "undelivered")
def transactions_are_answered_before_the_flush() -> Iterator[None]:
    def at_once(
        _self: SafeAnswers, _connection: Connection, request: Command, answer: Command | None = None
    ) -> Command:
        return answer or request.reply()

    with patch.object(SafeAnswers, "reply", at_once), _slow_disk():
        yield


@bug(POWER, "lost-postfix", "lost-middle", "vanished", "inconsistent", "reordered", "undelivered", "never-popped")
def a_sync_of_the_log_reaches_no_disk() -> Iterator[None]:
    sync = SimFile.sync

    def skip(self: SimFile) -> None:
        if "commitlog" not in self.path.parts:
            sync(self)

    with patch.object(SimFile, "sync", skip):
        yield


@bug(POWER, "vanished", "lost-postfix", "inconsistent")
def messages_are_read_before_they_are_safe() -> Iterator[None]:
    began = MessageStore._start

    def start(self: MessageStore, background: bool) -> None:
        began(self, background)
        self.appender.inline = True

    with patch.object(MessageStore, "_start", start), _slow_disk():
        yield


@bug(Script("ASYNC_FLUSH", 0, faults=4, kinds=("power",)), "offset-ahead")
def offsets_are_safe_before_the_log_is() -> Iterator[None]:
    note = ConsumerOffsets._note

    def save_at_once(self: ConsumerOffsets, key: str) -> None:
        note(self, key)
        self.log_is_safe = lambda: None
        self.saver.save_now()

    with patch.object(ConsumerOffsets, "_note", save_at_once), patch.object(ConsumerOffsets, "clamp", lambda *_: None):
        yield


@bug(Script("SYNC_FLUSH", 0, faults=4, kinds=("kill",), busy_ms=3000), "back-from-the-dead")
def a_deleted_topic_comes_back() -> Iterator[None]:
    with patch.object(DeletedTopics, "load", lambda _self: None):
        yield


@bug(CALM, "held-by-two")
def a_lock_is_given_to_everybody() -> Iterator[None]:
    with patch.object(QueueLocks, "lock", lambda *_more: True):
        yield


@bug(Script("ASYNC_FLUSH", 0, faults=1, kinds=("stop",), busy_ms=4000), "undelivered", "never-popped")
def the_last_timer_is_forgotten_by_a_stop() -> Iterator[None]:
    began = Timer.start

    def start(self: Timer) -> None:
        began(self)
        self.wheeled._latest = -1

    with patch.object(Timer, "start", start):
        yield


@bug(CALM, "early")
def a_delay_comes_at_once() -> Iterator[None]:
    stored = Schedule._stored

    def at_once(self: Schedule, level: Any, result: Any) -> None:
        stored(self, level, result)
        level.alarm.set(self._steady.now_ms())

    due = patch.object(Schedule, "_due", lambda _self, _level, _entry, now: now - 1)
    with due, patch.object(Schedule, "_stored", at_once):
        yield


@bug(CALM, "dirty-read")
def a_rollback_is_taken_for_a_commit() -> Iterator[None]:
    end = Transactions.end

    def commit(self: Transactions, connection: Connection, request: Command) -> Any:
        (request.ext_fields or {})["commitOrRollback"] = str(TRANSACTION_COMMIT)
        return end(self, connection, request)

    with patch.object(Transactions, "end", commit):
        yield


@bug(CALM, "recalled")
def a_recall_is_only_answered() -> Iterator[None]:
    def recall(_self: Recalls, _connection: Connection, request: Any) -> Any:
        return request.reply(ext_fields={"msgId": "M"})

    with patch.object(Recalls, "recall", recall):
        yield


@bug(CALM, "undelivered")
def what_was_sent_back_is_only_answered() -> Iterator[None]:
    with patch.object(Retries, "send_back", lambda _self, _connection, request: request.reply()):
        yield


@bug(CALM, "popped-twice")
def a_pop_is_visible_at_once() -> Iterator[None]:
    def run(self: Revive) -> None:
        self._settled_ms = 1 << 62
        for queue in self._queues:
            self._read(queue)
            for waiting in queue.waiting.values():
                waiting.check_point.invisible_time = 0
            self._revive(queue, self._clock.now_ms() + 10_000)

    with patch.object(Revive, "run", run), patch("sprocketmq.broker.pop.revive.EARLY_MS", 2900):
        yield


@bug(CALM, "popped-twice")
def an_ack_is_only_answered() -> Iterator[None]:
    with patch.object(PopAcks, "_ack_one", lambda *_more: None):
        yield


@bug(CALM, "never-popped")
def a_pop_leaves_no_check_point() -> Iterator[None]:
    with patch.object(Revive, "put_check_point", lambda *_more: True):
        yield


@bug(STOP, "offset-back")
def a_stop_forgets_the_offsets() -> Iterator[None]:
    with (
        patch.object(ConsumerOffsets, "save", lambda _self: None),
        patch.object(ConsumerOffsets, "load", lambda _self: None),
    ):
        yield


@bug(KILL, "lost-postfix", "lost-middle", "duplicate", "inconsistent", "reordered", "vanished")
def recovery_passes_over_a_message() -> Iterator[None]:
    """Its queue goes on behind it, and gives its offset to another."""
    recover = MessageStore._recover

    def less(self: MessageStore) -> None:
        recover(self)
        for queue in self.queues:
            if queue.topic == "Plain" and queue.max_offset > 1:
                queue.cursor.reset(queue.max_offset - 1, queue.cursor.max_commit_offset)

    with patch.object(MessageStore, "_recover", less):
        yield


@bug(CALM, "visible-twice", "duplicate")
def a_commit_is_delivered_twice() -> Iterator[None]:
    deliver = Transactions._deliver

    def twice(self: Transactions, half: Any) -> None:
        deliver(self, half)
        deliver(self, half)

    with patch.object(Transactions, "_deliver", twice):
        yield


@bug(CALM, "aborted-read")
def a_refused_send_is_stored() -> Iterator[None]:
    with patch("tests.fault.campaign.users.User._store", _refused):
        yield


async def _refused(self: Any, topic: str, queue: int, uids: list[str]) -> Command:
    """One in five is told that it is illegal, although it was stored."""
    entries = [(0, body_of(uid), encode_properties(_named(uid)).encode()) for uid in uids]
    batch = RequestCode.SEND_BATCH_MESSAGE
    answer: Command = await self.caller.send(topic, encode_batch(entries), queue, code=batch, WAIT="true")
    if self.random.random() < 0.2:
        answer.code = ResponseCode.MESSAGE_ILLEGAL
    return answer


@bug(KILL, "torn-batch", "lost-commit")
def one_transaction_in_four_is_only_answered() -> Iterator[None]:
    end = Transactions.end

    def sometimes(self: Transactions, connection: Connection, request: Command) -> Any:
        place = int((request.ext_fields or {})["tranStateTableOffset"])
        return request.reply() if place % 4 == 3 else end(self, connection, request)

    with patch.object(Transactions, "end", sometimes):
        yield


@bug(CALM, "handled-by-two", "held-by-two")
def a_lock_ends_when_the_clock_is_set() -> Iterator[None]:
    """Between two calls of the users an hour passes on the wall."""
    held = QueueLocks.lock

    def by_the_wall(self: QueueLocks, group: str, client_id: str, queue: Any) -> bool:
        for locks in self._groups.values():
            for lock in locks.values():
                lock.renewed_ms -= 3_600_000
        return held(self, group, client_id, queue)

    with patch.object(QueueLocks, "lock", by_the_wall):
        yield


@bug(
    Script("SYNC_FLUSH", 0, faults=3, kinds=("stop",)),
    "lost-postfix",
    "lost-middle",
    "inconsistent",
    "offset-back",
    "back-from-the-dead",
)
def tables_are_never_saved() -> Iterator[None]:
    with patch.object(ConfigFile, "write", lambda _self, _data: None):
        yield


@bug(CALM, "undelivered", "never-popped")
def one_timer_in_three_is_lost() -> Iterator[None]:
    deliver, calls = Timer._deliver, count()

    def sometimes(self: Timer, *given: Any) -> bool:
        return True if next(calls) % 3 == 0 else deliver(self, *given)

    with patch.object(Timer, "_deliver", sometimes):
        yield


@bug(POWER, "stuck")
def one_answer_in_ten_is_never_given() -> Iterator[None]:
    add, calls = Acks.add, count(1)

    def sometimes(self: Acks, *given: Any) -> None:
        if next(calls) % 10:
            add(self, *given)

    with patch.object(Acks, "add", sometimes):
        yield
