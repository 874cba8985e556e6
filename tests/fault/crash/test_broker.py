"""A broker on a disk that loses power: what its clients were told holds after the next start."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from pathlib import Path

from tests.fault.disk import SimDisk, keep_nothing
from tests.unit.broker.support import SMALL, Caller, FakeClock, bodies
from tests.unit.broker.transaction.test_handler import COMMIT, end, half

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.config import BrokerConfig
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.config import from_properties
from sprocketmq.store.config import StoreConfig
from sprocketmq.store.files.config_files import topics_file


def broker_on(disk: SimDisk, **entries: str) -> Broker:
    every = {**SMALL, "storePathRootDir": str(disk.root), "fileReservedTime": "72", **entries}
    return Broker(
        from_properties(BrokerConfig, every), StoreConfig.from_properties(every), files=disk, clock=FakeClock()
    )


async def lose_power(broker: Broker, caller: Caller, disk: SimDisk) -> SimDisk:
    """The machine is off; what is left of this process ends without touching the disk that the next start finds."""
    after = disk.power_cut(keep_nothing)
    await caller.client.close(grace=0.1)
    await broker.stop()
    return after


async def test_no_message_is_skipped_for_an_offset_that_outlived_the_log() -> None:
    disk = SimDisk()
    broker = broker_on(disk)
    await broker.start()
    caller = Caller(broker)
    await caller.heartbeat("G")
    for _ in range(5):
        await caller.send(body=b"old")
    broker.store.flush()
    broker.store.flusher.abandon()
    for _ in range(10):
        await caller.send(body=b"lost")
    commit = {"consumerGroup": "G", "topic": "T", "queueId": 0, "commitOffset": 15}
    assert (await caller.call(RequestCode.UPDATE_CONSUMER_OFFSET, commit)).code == 0
    broker.offsets.save()
    after = await lose_power(broker, caller, disk)
    again = broker_on(after)
    await again.start()
    later = Caller(again)
    assert again.store.max_offset("T", 0) == 5
    for _ in range(12):
        await later.send(body=b"new")
    offset = again.offsets.query("G", "T", 0)
    assert offset is not None
    assert bodies(await later.pull("T", offset)) == [b"new"] * 12
    await later.client.close(grace=0.1)
    await again.stop()


async def test_a_commit_that_was_answered_is_in_its_topic() -> None:
    disk = SimDisk()
    broker = broker_on(disk, flushDiskType="SYNC_FLUSH")
    await broker.start()
    caller = Caller(broker)
    places = [await half(caller, b"paid %d" % number) for number in range(5)]
    for place in places:
        assert (await end(caller, place, COMMIT)).code == ResponseCode.SUCCESS
    after = await lose_power(broker, caller, disk)
    again = broker_on(after, flushDiskType="SYNC_FLUSH")
    await again.start()
    later = Caller(again)
    assert bodies(await later.pull()) == [b"paid %d" % number for number in range(5)]
    await later.client.close(grace=0.1)
    await again.stop()


async def test_a_topic_made_again_keeps_what_was_acknowledged() -> None:
    disk = SimDisk()
    broker = broker_on(disk, flushDiskType="SYNC_FLUSH")
    await broker.start()
    caller = Caller(broker)
    for _ in range(20):
        await caller.send(body=b"old")
    assert (await caller(RequestCode.DELETE_TOPIC_IN_BROKER, topic="T")).code == ResponseCode.SUCCESS
    for _ in range(5):
        assert (await caller.send(body=b"new")).code == ResponseCode.SUCCESS
    after = await lose_power(broker, caller, disk)
    again = broker_on(after, flushDiskType="SYNC_FLUSH")
    await again.start()
    later = Caller(again)
    assert bodies(await later.pull()) == [b"new"] * 5
    await later.client.close(grace=0.1)
    await again.stop()


class NoTopics(SimDisk):
    """topics.json cannot be written while it is `full`; `tried` when somebody did."""

    def __init__(self) -> None:
        super().__init__()
        self.full = False
        self.tried = threading.Event()

    def write_bytes(self, path: Path, data: bytes, *, sync: bool = True) -> None:
        if self.full and path.name.startswith("topics.json"):
            self.tried.set()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().write_bytes(path, data, sync=sync)


async def test_nothing_is_acknowledged_on_a_topic_that_cannot_be_saved() -> None:
    disk = NoTopics()
    broker = broker_on(disk, flushDiskType="SYNC_FLUSH")
    await broker.start()
    caller = Caller(broker)
    assert (await caller.send("Known")).code == ResponseCode.SUCCESS
    disk.full = True
    sends = [asyncio.ensure_future(caller.send(body=b"%d" % number)) for number in range(3)]
    while not disk.tried.is_set():  # noqa: ASYNC110 - the thread tells nobody
        await asyncio.sleep(0.001)
    assert (await caller.send("Known")).code == ResponseCode.SUCCESS
    assert not any(send.done() for send in sends)
    disk.full = False
    assert [(await send).code for send in sends] == [ResponseCode.SUCCESS] * 3
    after = await lose_power(broker, caller, disk)
    saved = topics_file(after, after.root / "config").load()
    assert saved is not None
    assert "T" in saved.topic_config_table
    again = broker_on(after, flushDiskType="SYNC_FLUSH")
    await again.start()
    later = Caller(again)
    assert bodies(await later.pull()) == [b"0", b"1", b"2"]
    await later.client.close(grace=0.1)
    await again.stop()


async def test_a_topic_that_is_not_saved_in_time_is_told() -> None:
    disk = NoTopics()
    broker = broker_on(disk, flushDiskType="SYNC_FLUSH", syncFlushTimeout="1")
    await broker.start()
    caller = Caller(broker)
    disk.full = True
    answer = await caller.send()
    assert answer.code == ResponseCode.FLUSH_DISK_TIMEOUT
    assert broker.topics.saver.dirty
    disk.full = False
    await caller.client.close(grace=0.1)
    await broker.stop()


async def test_a_stop_that_cannot_save_leaves_the_rest_to_the_next_start() -> None:
    disk = SimDisk()
    broker = broker_on(disk)
    await broker.start()
    caller = Caller(broker)
    disk.faults.errors = {("create", number): errno.ENOSPC for number in range(disk.faults.calls["create"], 1000)}
    broker.topics.create_own("T", 4)
    while broker.topics.saver.busy:  # noqa: ASYNC110 - the first try fails
        await asyncio.sleep(0)
    disk.faults.errors = {}
    assert (await caller.send(body=b"kept")).code == ResponseCode.SUCCESS
    disk.faults.errors = {("create", number): errno.ENOSPC for number in range(disk.faults.calls["create"], 1000)}
    await caller.client.close(grace=0.1)
    await broker.stop()
    disk.faults.errors = {}
    again = broker_on(disk)
    await again.start()
    later = Caller(again)
    assert bodies(await later.pull()) == [b"kept"]
    await later.client.close(grace=0.1)
    await again.stop()
