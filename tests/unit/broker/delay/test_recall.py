"""A recall that was acknowledged counts, however late it can be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.broker.conftest import StartBroker
from tests.unit.broker.support import Caller, FakeClock, bodies, fields

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode


def ring(broker: Broker) -> None:
    broker.kinds.timer.alarm.ring()


@pytest.mark.parametrize("crash", [False, True])
async def test_a_recall_that_cannot_be_read_in_time(
    start_broker: StartBroker, clock: FakeClock, tmp_path: Path, crash: bool
) -> None:
    """Its sync takes longer than the time that is left, or the clock is set ahead; later it is set back."""
    broker = await start_broker(recallMessageEnable="true")
    caller = Caller(broker)
    handle = fields(await caller.send(body=b"recalled", TIMER_DELAY_SEC="5"))["recallHandle"]
    ring(broker)
    broker.store.readable.limit(broker.store.log.max_offset)
    answer = await caller(RequestCode.RECALL_MESSAGE, topic="T", recallHandle=handle)
    assert answer.code == ResponseCode.SUCCESS
    clock.jump(20_000)
    ring(broker)
    assert broker.store.max_offset("T", 0) == 0
    broker.store.readable.limit(None)
    broker.store.dispatch_ready()
    await caller.send(TIMER_DELAY_SEC="1000", UNIQ_KEY="0" * 32)  # the recall is not the last that came
    ring(broker)
    clock.jump(-20_000)
    ring(broker)
    await broker.stop()
    if crash:  # the wheel is built again from the log, from the time on that the clock shows
        (tmp_path / "store/abort").write_text("1")
    again = await start_broker(recallMessageEnable="true")
    for _ in range(20):
        clock.now += 1000
        ring(again)
    await Caller(again).send(body=b"wanted")
    assert bodies(await Caller(again).pull()) == [b"wanted"]
