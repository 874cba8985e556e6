"""Nothing holds up the broker's loop: not large tables, not a disk that does not answer, not an index that rolls.

How long a callback takes is told in CPU time of the loop's thread, and beside a piece of work of known length: so a
busy machine and a slow one are no reasons to fail.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.fault.held_disk import HeldDisk
from tests.unit.broker.support import Caller, make_settings, records

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.group import SubscriptionGroupConfig
from sprocketmq.protocol.bodies.pop import SetMessageRequestModeRequestBody
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.protocol.command import Command

#: Rows of the table of offsets; a tenth of the topics and groups that it names.
ROWS = 1_000_000 if "SPROCKETMQ_CHAOS" in os.environ else 100_000
NAMES, QUEUES = ROWS // 100, 100


class Stalls:
    """The longest callback of the loop, in seconds of CPU, and what it was."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.callback = ""

    @contextmanager
    def watched(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        run = asyncio.Handle._run

        def timed(handle: asyncio.Handle) -> None:
            began = time.thread_time()
            run(handle)
            took = time.thread_time() - began
            if took > self.seconds:
                self.seconds, self.callback = took, repr(handle)

        with monkeypatch.context() as patch:
            patch.setattr(asyncio.Handle, "_run", timed)
            yield


def fifty_milliseconds() -> float:
    """So long a quiet core of 2.5 GHz takes 50 ms for: the CPU time that it takes here and now."""
    took = []
    for _ in range(5):
        began = time.thread_time()
        sum(number & 7 for number in range(1_000_000))
        took.append(time.thread_time() - began)
    return max(took)


def fill_tables(broker: Broker) -> None:
    topics = {f"T{number}": TopicConfig(topic_name=f"T{number}") for number in range(NAMES)}
    broker.topics.inherit(broker.topics.configs | topics, broker.topics.data_version.next(1))
    for number in range(NAMES):
        broker.groups.get(f"G{number}")
        for queue_id in range(QUEUES):
            broker.offsets.commit_by(f"T{number}@G{number}", queue_id, number)


async def everything_saved(broker: Broker) -> None:
    async with asyncio.timeout(600):
        for saver in (broker.topics.saver, broker.groups.saver, broker.offsets.saver):
            await saver.saved()


async def use(broker: Broker, caller: Caller, count: int) -> None:
    """Sends with so many keys that the index rolls, commits, pulls; and whatever the broker does by the clock."""
    for number in range(count):
        sent = await caller.send("T1", KEYS=" ".join(f"k{number}-{key}" for key in range(20)))
        assert sent.code == ResponseCode.SUCCESS, sent.remark
        pulled = await caller.pull("T1", 0, group="G1", commit=number, sys_flag=5)
        assert pulled.code == ResponseCode.SUCCESS, pulled.remark
    for job in broker._jobs:
        asyncio.get_running_loop().call_soon(job._job)
    await asyncio.sleep(0)


async def test_large_tables_are_saved_beside_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = make_settings(tmp_path / "store")
    broker = Broker(settings.current, settings.store)
    await broker.start()
    caller = Caller(broker)
    fill_tables(broker)
    await everything_saved(broker)
    stalls, limit = Stalls(), fifty_milliseconds()
    assert broker.store.index is not None
    rolled = len(broker.store.index.names)
    with stalls.watched(monkeypatch):
        for _ in range(3):
            await use(broker, caller, 30)
            await everything_saved(broker)
    assert len(broker.store.index.names) > rolled + 2
    limit = max(limit, fifty_milliseconds())
    assert stalls.seconds < limit, f"{stalls.seconds:.3f} s of CPU, {limit:.3f} allowed: {stalls.callback}"
    await caller.client.close(grace=0.1)
    await broker.stop()


async def test_a_disk_that_does_not_answer_holds_up_nobody(tmp_path: Path) -> None:
    """Under ASYNC_FLUSH: all of it is answered while no sync returns, and the loop waits for none."""
    disk = HeldDisk(tmp_path)
    settings = make_settings(tmp_path / "store", flushIntervalCommitLog="10", flushCommitLogLeastPages="0")
    broker = Broker(settings.current, settings.store, files=disk)
    await broker.start()
    caller = Caller(broker)
    assert (await caller.send("T1")).code == ResponseCode.SUCCESS
    disk.synced_by_loop.clear()
    disk.going.clear()
    try:
        async with asyncio.timeout(600):
            for number in range(3):
                await use(broker, caller, 30)
                assert (await caller.send(f"New{number}")).code == ResponseCode.SUCCESS
                await caller.heartbeat(f"NewGroup{number}", "c1")
            assert (await caller.send("T1", TIMER_DELAY_SEC="100")).code == ResponseCode.SUCCESS
            while not (tmp_path / "store" / "timerlog").exists():  # noqa: ASYNC110 - the first timer makes it
                await asyncio.sleep(0.01)
            while not disk.waiting.is_set():  # noqa: ASYNC110 - the threads tell nobody
                await asyncio.sleep(0.01)
            assert (await caller.send("T1")).code == ResponseCode.SUCCESS
    finally:
        disk.going.set()
    assert disk.synced_by_loop == []
    await caller.client.close(grace=0.1)
    await broker.stop()


async def test_old_log_files_go_beside_the_loop(tmp_path: Path) -> None:
    """While the disk does not say that they are gone, others are served, and what pointed into them is still there."""
    disk = HeldDisk(tmp_path)
    hours = ";".join(f"{hour:02d}" for hour in range(24))
    settings = make_settings(tmp_path / "store", mappedFileSizeCommitLog="8192", fileReservedTime="0", deleteWhen=hours)
    broker = Broker(settings.current, settings.store, files=disk)
    await broker.start()
    caller, store = Caller(broker), broker.store
    for _ in range(9):
        assert (await caller.send("T1", bytes(2000))).code == ResponseCode.SUCCESS
    store.flush()
    disk.synced_by_loop.clear()
    disk.going.clear()
    clean = next(job for job in broker._jobs if job.name == "clean files")
    try:
        async with asyncio.timeout(600):
            for _ in range(2):
                clean._ring()
                assert len(store.log.bases) == 1
            while not disk.waiting.is_set():  # noqa: ASYNC110 - the threads tell nobody
                await asyncio.sleep(0.01)
            assert (await caller.send("T1")).code == ResponseCode.SUCCESS
            assert store.min_offset("T1", 0) == 0
    finally:
        disk.going.set()
    async with asyncio.timeout(600):
        while store.min_offset("T1", 0) == 0:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.01)
    assert disk.synced_by_loop == []
    await caller.client.close(grace=0.1)
    await broker.stop()


def changes(caller: Caller) -> dict[str, Coroutine[Any, Any, Command]]:
    """What changes a table and is answered when the change is on disk."""
    topic = {
        "topic": "Made", "defaultTopic": "TBW102", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6,
        "topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "order": False,
    }  # fmt: skip
    group = codec.encode(SubscriptionGroupConfig(group_name="G1", retry_max_times=3))
    mode = codec.encode(SetMessageRequestModeRequestBody(topic="T1", consumer_group="G1"))
    forbidden = {"group": "G1", "topic": "T1", "readable": True}
    return {
        "new topic": caller.send("New", b"first"),
        "new topic, once more": caller.send("New", b"second"),
        "topic": caller.call(RequestCode.UPDATE_AND_CREATE_TOPIC, topic),
        "group": caller(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, group),
        "topic deleted": caller(RequestCode.DELETE_TOPIC_IN_BROKER, topic="Deleted"),
        "group deleted": caller(RequestCode.DELETE_SUBSCRIPTIONGROUP, groupName="Old"),
        "group forbidden": caller.call(RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, forbidden),
        "settings": caller(RequestCode.UPDATE_BROKER_CONFIG, b"maxMessageSize=5000000"),
        "request mode": caller(RequestCode.SET_MESSAGE_REQUEST_MODE, mode),
        "unused topics": caller(RequestCode.CLEAN_UNUSED_TOPIC),
    }


async def test_a_table_that_is_not_saved_holds_up_its_change_alone(tmp_path: Path) -> None:
    """Under SYNC_FLUSH, with a disk that keeps the log and answers nobody who saves a table."""
    disk = HeldDisk(tmp_path / "store" / "config")
    settings = make_settings(tmp_path / "store", flushDiskType="SYNC_FLUSH")
    broker = Broker(settings.current, settings.store, files=disk)
    await broker.start()
    caller, other = Caller(broker), Caller(broker)
    for topic in ("T1", "Deleted", "Unused"):
        assert (await caller.send(topic)).code == ResponseCode.SUCCESS
    await broker.topics.delete("Unused")  # and its queue stays, as after a crash between the two
    await broker.groups.put(SubscriptionGroupConfig(group_name="Old"))
    await everything_saved(broker)
    disk.synced_by_loop.clear()
    disk.going.clear()
    try:
        waiting = {name: asyncio.ensure_future(change) for name, change in changes(caller).items()}
        async with asyncio.timeout(600):
            while not disk.waiting.is_set():  # noqa: ASYNC110 - the threads tell nobody
                await asyncio.sleep(0.01)
            for _ in range(20):
                assert (await other.send("T1")).code == ResponseCode.SUCCESS
                assert (await other.pull("T1", 0, group="G1", sys_flag=4)).code == ResponseCode.SUCCESS
            assert (await other.send("Deleted")).code == ResponseCode.TOPIC_NOT_EXIST
        assert [name for name, change in waiting.items() if change.done()] == []
    finally:
        disk.going.set()
    for name, change in waiting.items():
        assert (await change).code == ResponseCode.SUCCESS, name
    assert disk.synced_by_loop == []
    assert [record.body for record in records(await other.pull("New", 0))] == [b"first", b"second"]
    assert broker.topics.get("Deleted") is None
    assert "Unused" not in broker.store.topics()
    assert (await other.send("Deleted", b"anew")).code == ResponseCode.SUCCESS
    assert [record.body for record in records(await other.pull("Deleted", 0))] == [b"anew"]
    for each in (caller, other):
        await each.client.close(grace=0.1)
    await broker.stop()
