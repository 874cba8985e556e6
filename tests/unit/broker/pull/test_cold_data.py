"""With a hot ratio of 0 everything but the last byte of the log is cold."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.broker.conftest import StartBroker
from tests.unit.broker.support import Caller, FakeClock, bodies, wants

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.pull import nothing_found
from sprocketmq.codes import ResponseCode
from sprocketmq.protocol.enums import ConsumeType

COLD = {"coldDataFlowControlEnable": "true", "accessMessageInMemoryHotRatio": "0", "cgColdReadThreshold": "1"}


async def started(start_broker: StartBroker, **entries: str) -> tuple[Broker, Caller]:
    broker = await start_broker(**{**COLD, **entries})
    caller = Caller(broker)
    for number in range(3):
        await caller.send(body=b"%d" % number)
    await caller.heartbeat("G", "c1", wants())
    return broker, caller


async def test_a_group_that_has_read_enough_is_told_to_rest(start_broker: StartBroker, clock: FakeClock) -> None:
    broker, caller = await started(start_broker)
    assert bodies(await caller.pull(count=1)) == [b"0"]
    assert (await caller.pull(offset=1)).code == ResponseCode.SYSTEM_BUSY
    assert (await caller.pull(offset=1, group="H")).code == 0
    broker.cold.begin_period()
    assert bodies(await caller.pull(offset=1, count=1)) == [b"1"]
    clock.now += 61_000
    broker.cold.begin_period()
    assert not broker.cold.groups
    await caller.client.close(grace=0.1)


async def test_a_pull_consumer_waits_for_one_message(
    start_broker: StartBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nothing_found, "HOLD_SECONDS", 0.05)
    broker, caller = await started(start_broker)
    group = broker.consumers.get("G")
    assert group is not None
    group.consume_type = ConsumeType.CONSUME_ACTIVELY
    await caller.pull(count=1)
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert bodies(await caller.pull(offset=1)) == [b"1"]
    assert loop.time() - began >= 0.05
    await caller.client.close(grace=0.1)


async def test_all_groups_together_have_a_threshold(start_broker: StartBroker) -> None:
    _, caller = await started(start_broker, cgColdReadThreshold="1000000", globalColdReadThreshold="1")
    await caller.pull(count=1)
    assert (await caller.pull(offset=1)).code == ResponseCode.SYSTEM_BUSY
    await caller.client.close(grace=0.1)


async def test_what_is_in_memory_after_all_is_not_cold(start_broker: StartBroker) -> None:
    broker, caller = await started(start_broker, coldDataScanEnable="true")
    await caller.pull(count=1)
    assert not broker.cold.groups
    await caller.client.close(grace=0.1)


async def test_nothing_is_counted_while_it_is_off(start_broker: StartBroker) -> None:
    broker, caller = await started(start_broker, coldDataFlowControlEnable="false")
    assert len(bodies(await caller.pull())) == 3
    assert not broker.cold.groups
    await caller.client.close(grace=0.1)
