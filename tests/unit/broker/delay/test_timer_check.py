"""Damage of `timercheck`: every timer comes; those of the last second that was delivered may come twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.broker.conftest import StartBroker
from tests.unit.broker.support import Caller, FakeClock, bodies

from sprocketmq.broker.broker import Broker

READ_TIME_AT, QUEUE_OFFSET_AT = 0, 16


def deliver(broker: Broker, clock: FakeClock, after_ms: int) -> None:
    clock.now += after_ms
    broker.kinds.timer.alarm.ring()


async def send(broker: Broker, number: int, seconds: int) -> None:
    await Caller(broker).send(body=b"%d" % number, TIMER_DELAY_SEC=str(seconds), UNIQ_KEY=f"{number:032X}")


def flipped(data: bytes, at: int, bit: int) -> bytes:
    value = int.from_bytes(data[at : at + 8], "big") ^ 1 << bit
    return data[:at] + value.to_bytes(8, "big") + data[at + 8 :]


DAMAGE: dict[str, Callable[[bytes], bytes | None]] = {
    "gone": lambda _data: None,
    "empty": lambda _data: b"",
    "zero": lambda data: bytes(len(data)),
    "garbage": lambda data: b"\x5a" * len(data),
    "a time to come": lambda data: flipped(data, READ_TIME_AT, 20),
    "a time that never comes": lambda data: flipped(data, READ_TIME_AT, 62),
    "a time before all": lambda data: flipped(data, READ_TIME_AT, 63),
    "an offset behind the topic's end": lambda data: flipped(data, QUEUE_OFFSET_AT, 45),
}


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("damage", DAMAGE)
async def test_no_timer_is_lost(
    start_broker: StartBroker, clock: FakeClock, tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str,
    clean: bool,
) -> None:  # fmt: skip
    broker = await start_broker()
    for number, seconds in enumerate((2, 20, 40)):
        await send(broker, number, seconds)
    deliver(broker, clock, 0)
    deliver(broker, clock, 2000)
    await broker.stop()
    path = tmp_path / "store/config/timercheck"
    left = DAMAGE[damage](path.read_bytes())
    path.unlink() if left is None else path.write_bytes(left)
    if not clean:
        (tmp_path / "store/abort").write_text("1")
    clock.now += 25_000  # one is due meanwhile
    again = await start_broker()
    await send(again, 3, 5)
    for _ in range(40):
        deliver(again, clock, 1000)
    found = bodies(await Caller(again).pull())
    assert sorted(found)[-4:] == [b"0", b"1", b"2", b"3"]
    assert len(found) <= 5
    assert any("timercheck" in str(vars(record)) for record in caplog.records if record.levelname == "ERROR")
