from __future__ import annotations

from datetime import date

import pytest
from tests.unit.broker.conftest import StartBroker
from tests.unit.broker.support import START_MS, Caller, FakeClock

from sprocketmq.broker.admin.runtime_info import duration, size
from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.registration import KVTable
from sprocketmq.protocol.bodies.stats import BrokerStatsData

#: The keys of a real RocketMQ 5.3.3 broker, save one per delay level and one per log folder.
_KEYS = """
bootTimestamp runtime putMessageEntireTimeMax putMessageTimesTotal putMessageFailedTimes putMessageSizeTotal
putMessageDistributeTime putMessageAverageSize dispatchMaxBuffer getMessageEntireTimeMax putTps getFoundTps getMissTps
getTotalTps getTransferredTps putLatency99 putLatency999 commitLogDiskRatio consumeQueueDiskRatio commitLogMinOffset
commitLogMaxOffset brokerActive brokerVersionDesc brokerVersion msgPutTotalYesterdayMorning msgPutTotalTodayMorning
msgPutTotalTodayNow msgGetTotalYesterdayMorning msgGetTotalTodayMorning msgGetTotalTodayNow dispatchBehindBytes
pageCacheLockTimeMills earliestMessageTimeStamp startAcceptSendRequestTimeStamp timerReadBehind timerOffsetBehind
timerCongestNum timerEnqueueTps timerDequeueTps remainTransientStoreBufferNumbs remainHowManyDataToFlush
commitLogDirCapacity sendThreadPoolQueueSize pullThreadPoolQueueSize litePullThreadPoolQueueSize
queryThreadPoolQueueSize ackThreadPoolQueueSize sendThreadPoolQueueCapacity pullThreadPoolQueueCapacity
litePullThreadPoolQueueCapacity queryThreadPoolQueueCapacity ackThreadPoolQueueCapacity
sendThreadPoolQueueHeadWaitTimeMills pullThreadPoolQueueHeadWaitTimeMills queryThreadPoolQueueHeadWaitTimeMills
litePullThreadPoolQueueHeadWaitTimeMills ackThreadPoolQueueHeadWaitTimeMills EndTransactionQueueSize
EndTransactionThreadPoolQueueCapacity
"""


async def figures(caller: Caller) -> dict[str, str]:
    return dict(codec.decode(KVTable, (await caller(RequestCode.GET_BROKER_RUNTIME_INFO)).body).table)


async def test_all_keys_are_there(caller: Caller, broker: Broker, clock: FakeClock) -> None:
    await caller.send("T")
    clock.now += 3_661_000
    found = await figures(caller)
    assert set(_KEYS.split()) <= set(found)
    assert found["getTransferedTps"] == found["getTransferredTps"]  # RocketMQ 4 spells it so
    assert found["brokerImplementation"] == "SprocketMQ"
    assert found["runtime"] == "[ 0 days, 1 hours, 1 minutes, 1 seconds ]"
    assert found["earliestMessageTimeStamp"] == str(START_MS)
    assert found["commitLogMaxOffset"] == str(broker.store.log.max_offset)
    assert f"commitLogDiskRatio_{broker.store.layout.root}/commitlog" in found
    for name in ("putTps", "getFoundTps", "getMissTps", "getTotalTps", "getTransferredTps"):
        assert len([float(part) for part in found[name].split(" ")]) == 3


async def test_delayed_messages(caller: Caller) -> None:
    await caller.send("T", DELAY="3")
    assert (await figures(caller))["scheduleMessageOffset_3"] == "0,1"


async def test_timers(caller: Caller) -> None:
    await caller.send("T", TIMER_DELAY_SEC="60")
    found = await figures(caller)
    assert int(found["timerCongestNum"]) + int(found["timerOffsetBehind"]) == 1


async def test_totals_by_morning(caller: Caller, broker: Broker) -> None:
    await caller.send("T")
    await caller.pull("T")
    broker.stats.sample(date(2026, 1, 1))
    broker.stats.sample(date(2026, 1, 2))
    await caller.send("T")
    broker.stats.sample(date(2026, 1, 3))
    await caller.send("T")
    found = await figures(caller)
    assert [found[f"msgPutTotal{when}"] for when in ("YesterdayMorning", "TodayMorning", "TodayNow")] == ["1", "2", "3"]
    assert [found[f"msgGetTotal{when}"] for when in ("YesterdayMorning", "TodayMorning", "TodayNow")] == ["1", "1", "1"]


async def test_totals_are_without_topics_of_the_system(caller: Caller) -> None:
    """What traces and the broker's own bookkeeping put would hide how much people put."""
    await caller.send("T")
    await caller.send("RMQ_SYS_TRACE_TOPIC")
    await caller.pull("T")
    await caller.pull("RMQ_SYS_TRACE_TOPIC")
    found = await figures(caller)
    assert (found["msgPutTotalTodayNow"], found["msgGetTotalTodayNow"]) == ("1", "1")
    assert found["putMessageTimesTotal"] == "2"


@pytest.mark.parametrize("pool", ["true", "false"])
async def test_what_is_not_committed_is_told_where_there_is_a_buffer(start_broker: StartBroker, pool: str) -> None:
    broker = await start_broker(transientStorePoolEnable=pool)
    caller = Caller(broker)
    await caller.send("T")
    assert ("remainHowManyDataToCommit" in await figures(caller)) is (pool == "true")


async def test_other_parts_add_their_figures(caller: Caller, broker: Broker) -> None:
    broker.figures.append(lambda: {"timerCongestNum": "7", "more": "1"})
    found = await figures(caller)
    assert (found["timerCongestNum"], found["more"]) == ("7", "1")


async def test_statistics(caller: Caller, broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    now = broker.stats.clock()
    monkeypatch.setattr(broker.stats, "clock", lambda: now)
    for _ in range(3):
        await caller.send("T", bytes(100))
    await caller.pull("T", count=2)

    async def view(name: str, key: str) -> BrokerStatsData:
        answer = await caller(RequestCode.VIEW_BROKER_STATS_DATA, statsName=name, statsKey=key)
        assert answer.code == 0, name
        return codec.decode(BrokerStatsData, answer.body)

    puts = await view("TOPIC_PUT_NUMS", "T")
    assert puts.stats_minute is not None
    assert (puts.stats_minute.sum, puts.stats_minute.avgpt) == (3, 1.0)
    assert puts.stats_minute.tps == pytest.approx(0.3)
    assert puts.stats_day is not None
    assert puts.stats_day.sum == 3
    sizes = await view("TOPIC_PUT_SIZE", "T")
    assert sizes.stats_hour is not None
    assert sizes.stats_hour.sum > 300
    assert sizes.stats_hour.avgpt == sizes.stats_hour.sum / 3
    for name, key, count in (("GROUP_GET_NUMS", "T@G", 2), ("BROKER_PUT_NUMS", "DefaultCluster", 3)):
        found = await view(name, key)
        assert found.stats_minute is not None
        assert found.stats_minute.sum == count


@pytest.mark.parametrize(("name", "key"), [("TOPIC_PUT_NUMS", "unknown"), ("NO_SUCH_NUMS", "T"), ("TOPIC_PUT", "T")])
async def test_statistics_that_are_not_there(caller: Caller, name: str, key: str) -> None:
    await caller.send("T")
    answer = await caller(RequestCode.VIEW_BROKER_STATS_DATA, statsName=name, statsKey=key)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert key in (answer.remark or "")


def test_texts() -> None:
    assert duration(90_061_000) == "[ 1 days, 1 hours, 1 minutes, 1 seconds ]"
    assert [size(count) for count in (0, 1023, 6735, 252 << 30)] == ["0 B", "1023 B", "6.6 KiB", "252.0 GiB"]
