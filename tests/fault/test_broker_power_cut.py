"""A broker on a disk that loses power: what its clients were told holds after the next start."""

from __future__ import annotations

from tests.fault.disk import SimDisk, keep_nothing
from tests.unit.broker.support import SMALL, Caller, FakeClock, bodies

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.config import BrokerConfig
from sprocketmq.codes import RequestCode
from sprocketmq.config import from_properties
from sprocketmq.store.config import StoreConfig


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
