"""How many messages rest, per topic, and the files that say so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.unit.broker.conftest import StartBroker
from tests.unit.broker.support import START_MS, Caller, FakeClock

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.system_topics.topic_counts import Resting
from sprocketmq.codes import RequestCode
from sprocketmq.protocol import java_json
from sprocketmq.store.files.disk import Disk


def content(broker: Broker, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((broker.store.layout.config / name).read_bytes())
    return found


def test_the_file_is_one_line_and_is_written_when_something_changed(clock: FakeClock, tmp_path: Path) -> None:
    resting = Resting(Disk(), tmp_path / "transactionMetrics", "transactionCount", clock)
    resting.add("AuditLog", 3)
    resting.add("AuditLog", -1)
    resting.save()
    expected = b'{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":%d},"transactionCount":{"AuditLog":'
    written = (tmp_path / "transactionMetrics").read_bytes()
    assert written == expected % START_MS + b'{"count":2,"timeStamp":%d}}}' % START_MS
    resting.save()
    assert (tmp_path / "transactionMetrics").read_bytes() == written
    again = Resting(Disk(), tmp_path / "transactionMetrics", "transactionCount", clock)
    assert again.load()
    assert again.counts == {"AuditLog": 2}
    assert not Resting(Disk(), tmp_path / "transactionMetrics", "timingCount", clock).load()


async def test_open_transactions_are_counted_over_a_restart(
    caller: Caller, broker: Broker, start_broker: StartBroker
) -> None:
    for key in ("A" * 32, "B" * 32):
        await caller.send("T", TRAN_MSG="true", PGROUP="P", UNIQ_KEY=key)
    assert broker.kinds.halves.resting.counts == {"T": 2}
    half = broker.kinds.halves.read(0)
    assert half is not None
    fields = {"producerGroup": "P", "tranStateTableOffset": 0, "commitLogOffset": half.record.commit_offset}
    answer = await caller.call(RequestCode.END_TRANSACTION, fields | {"commitOrRollback": 12, "msgId": "A" * 32})
    assert answer.code == 0, answer.remark
    assert broker.kinds.halves.resting.counts == {"T": 1}
    await broker.stop()
    assert content(broker, "transactionMetrics")["transactionCount"]["T"]["count"] == 1
    again = await start_broker()
    assert again.kinds.halves.resting.counts == {"T": 1}


async def test_timers_are_counted_over_a_stop_and_a_kill(
    caller: Caller, broker: Broker, start_broker: StartBroker, clock: FakeClock
) -> None:
    for topic, seconds in (("T", 5), ("T", 100), ("U", 100)):
        await caller.send(topic, TIMER_DELAY_SEC=str(seconds))
    broker.kinds.timer.alarm.ring()
    assert broker.kinds.timer.resting.counts == {"T": 2, "U": 1}
    body = java_json.loads((await caller(RequestCode.GET_TIMER_METRICS)).body)
    assert body["timingCount"]["T"]["count"] == 2
    assert len((await caller(RequestCode.GET_TIMER_CHECK_POINT)).body) > 0
    clock.now += 6000
    broker.kinds.timer.alarm.ring()
    assert broker.kinds.timer.resting.counts == {"T": 1, "U": 1}
    await broker.stop()
    assert content(broker, "timermetrics")["timingCount"]["T"]["count"] == 1
    again = await start_broker()
    assert again.kinds.timer.resting.counts == {"T": 1, "U": 1}
    await again.stop()
    (broker.store.layout.config / "timermetrics").write_text('{"timingCount":{"T":{"count":77}}}')
    (broker.store.layout.root / "abort").touch()
    killed = await start_broker()
    assert killed.kinds.timer.resting.counts == {"T": 1, "U": 1}


async def test_the_figures_of_timers(caller: Caller, broker: Broker, clock: FakeClock) -> None:
    for seconds in (5, 100):
        await caller.send("T", TIMER_DELAY_SEC=str(seconds))
    broker.kinds.timer.alarm.ring()
    figures = broker.kinds.timer.figures()
    assert (figures["timerCongestNum"], figures["timerOffsetBehind"], figures["timerReadBehind"]) == ("2", "0", "0")
    assert float(figures["timerEnqueueTps"]) > 0
    assert float(figures["timerDequeueTps"]) == 0
    clock.now += 9000
    assert broker.kinds.timer.figures()["timerReadBehind"] == "9"
    broker.kinds.timer.alarm.ring()
    figures = broker.kinds.timer.figures()
    assert (figures["timerCongestNum"], figures["timerReadBehind"]) == ("1", "0")
    assert float(figures["timerDequeueTps"]) > 0
