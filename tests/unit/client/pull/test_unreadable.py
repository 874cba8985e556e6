"""An unreadable record is told with its place, passed over, and the messages behind it come."""

from __future__ import annotations

import struct

import pytest
from tests.unit.client.fakes import FakeQueues, FakeTransport, instance, stored, until

from sprocketmq.client.cluster import unreadable_records
from sprocketmq.client.pull import consumer as consumer_module
from sprocketmq.client.pull.assignment import Assignment
from sprocketmq.client.pull.consumer import PullConsumer
from sprocketmq.client.settings import PullSettings
from sprocketmq.protocol.message_queue import MessageQueue

QUEUE = MessageQueue("T", "a", 0)


def no_magic(record: bytes) -> bytes:
    return record[:4] + struct.pack(">i", 7) + record[8:]


def wrong_crc(record: bytes) -> bytes:
    return record[:8] + struct.pack(">i", 7) + record[12:]


async def reading(broker: FakeQueues, transport: FakeTransport, tags: str = "*") -> Assignment:
    for number in range(5):
        broker.append(b"%d" % number, tags="x")
    made = Assignment(instance(transport), "g", PullSettings(consume_from="first", commit_interval=3600))
    await made.assign([QUEUE], tags, None)
    return made


def warned(caplog: pytest.LogCaptureFixture, offset: int) -> bool:
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    return any(f"unreadable record skipped queue={QUEUE} offset={offset}" in line for line in told)


@pytest.mark.parametrize("bad", [0, 2, 4])
async def test_a_poll_goes_on_behind_bytes_that_are_no_record(bad: int, caplog: pytest.LogCaptureFixture) -> None:
    transport = FakeTransport()
    broker = FakeQueues(transport, queues=1)
    made = await reading(broker, transport)
    broker.logs[0][bad] = no_magic(broker.logs[0][bad])
    found: list[bytes] = []
    while len(found) < 4:
        found += [message.body for message in await made.poll(10, 60)]
    assert found == [b"%d" % number for number in range(5) if number != bad]
    assert warned(caplog, bad)
    await made.stop(commit=True)
    assert broker.committed["T", 0] == 5


async def test_a_tag_that_cannot_be_read_costs_its_message_only(caplog: pytest.LogCaptureFixture) -> None:
    transport = FakeTransport()
    broker = FakeQueues(transport, queues=1)
    made = await reading(broker, transport, "x")
    broker.logs[0][1] = wrong_crc(broker.logs[0][1])
    assert [message.body for message in await made.poll(10, 60)] == [b"0", b"2", b"3", b"4"]
    assert warned(caplog, 1)
    await made.stop(commit=True)


async def test_arrow_batches_leave_it_out(caplog: pytest.LogCaptureFixture) -> None:
    transport = FakeTransport()
    broker = FakeQueues(transport, queues=1)
    made = await reading(broker, transport)
    broker.logs[0][2] = no_magic(broker.logs[0][2])
    found: list[int | None] = []
    while len(found) < 4:
        batch = await made.poll_arrow(60)
        found += [] if batch is None else batch.column("queueOffset").to_pylist()
    assert found == [0, 1, 3, 4]
    assert warned(caplog, 2)
    await made.stop(commit=True)
    assert broker.committed["T", 0] == 5


async def test_arrow_takes_what_messages_were_not_taken_of(caplog: pytest.LogCaptureFixture) -> None:
    transport = FakeTransport()
    broker = FakeQueues(transport, queues=1)
    made = await reading(broker, transport)
    await until(lambda: not made.buffers[QUEUE].is_empty)
    assert len(await made.poll(2, 60)) == 2
    batch = await made.poll_arrow(60)
    assert batch is not None
    assert batch.column("queueOffset").to_pylist() == [2, 3, 4]
    await made.stop(commit=True)


def test_the_place_is_the_one_it_claims_where_that_can_be() -> None:
    records = [stored(b"x", 3), no_magic(stored(b"y", 50))]
    assert unreadable_records.split(b"".join(records), QUEUE, 0, 60)[1] == 51
    assert unreadable_records.split(records[1], QUEUE, 20, 60)[1] == 51
    assert unreadable_records.split(no_magic(stored(b"y", 70)), QUEUE, 20, 60)[1] == 21
    assert unreadable_records.split(b"\0" * 9, QUEUE, 20, 60)[1] == 21


@pytest.mark.parametrize("change", [-91, -7, 5])
def test_a_record_that_lies_about_its_size_costs_itself_alone(change: int) -> None:
    records = [stored(b"x" * 20, offset) for offset in (3, 4, 5, 6)]
    wrong = len(records[1]) + change
    records[1] = wrong.to_bytes(4, "big") + records[1][4:]
    messages, next_offset = unreadable_records.split(b"".join(records), QUEUE, 3, 7)
    assert ([message.queue_offset for message in messages], next_offset) == ([3], 5)


async def test_a_range_goes_on_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    transport = FakeTransport()
    broker = FakeQueues(transport, queues=1)
    used = instance(transport)

    async def release(_instance: object, consumer: str) -> None:
        await used.stop()

    monkeypatch.setattr(consumer_module, "acquire", lambda _options, consumer: used)
    monkeypatch.setattr(consumer_module, "release", release)
    for number in range(6):
        broker.append(b"%d" % number)
    for bad in (0, 3):
        broker.logs[0][bad] = no_magic(broker.logs[0][bad])
    async with PullConsumer("g", "ns") as consumer:
        found = [message.body async for batch in consumer.read_range(QUEUE, 0, 5) for message in batch]
    assert found == [b"1", b"2", b"4"]
