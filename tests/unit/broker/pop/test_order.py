from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.broker.support import START_MS, FakeClock

from sprocketmq.broker.pop.order import PopOrder
from sprocketmq.broker.tables.offsets import ConsumerOffsets
from sprocketmq.protocol import java_json
from sprocketmq.store.files.config_files import consumer_offsets_file, json_file
from sprocketmq.store.files.disk import Disk


@pytest.fixture
def offsets(clock: FakeClock, tmp_path: Path) -> ConsumerOffsets:
    return ConsumerOffsets(consumer_offsets_file(Disk(), tmp_path), clock)


@pytest.fixture
def order(offsets: ConsumerOffsets, clock: FakeClock, tmp_path: Path) -> PopOrder:
    found = PopOrder(offsets, Disk(), tmp_path, clock)
    found.taken("T", "G", 0, [3, 4], 5, clock.now, 1000, "attempt")
    return found


def test_a_queue_is_blocked_until_all_is_acknowledged(order: PopOrder, offsets: ConsumerOffsets) -> None:
    assert order.is_blocked("T", "G", 0, None)
    order.ack("T", "G", 0, 4, START_MS)
    assert (order.is_blocked("T", "G", 0, None), offsets.query("G", "T", 0)) == (True, 3)
    order.ack("T", "G", 0, 3, START_MS)
    assert (order.is_blocked("T", "G", 0, None), offsets.query("G", "T", 0)) == (False, 5)


def test_a_queue_is_free_when_the_time_is_over(order: PopOrder, clock: FakeClock) -> None:
    clock.now += 1000
    assert not order.is_blocked("T", "G", 0, None)


@pytest.mark.parametrize("jump", [3_600_000, -3_600_000])
def test_a_clock_that_is_set_frees_no_queue_and_keeps_none(order: PopOrder, clock: FakeClock, jump: int) -> None:
    clock.jump(jump)
    order.hide("T", "G", 0, 3, START_MS, clock.now + 1500)
    clock.now += 1499
    assert order.is_blocked("T", "G", 0, None)
    clock.now += 1
    assert not order.is_blocked("T", "G", 0, None)


def test_who_waits_is_told_when_time_has_passed_whatever_the_clock_says(order: PopOrder, clock: FakeClock) -> None:
    told: list[tuple[str, int]] = []
    order.on_free = lambda topic, queue_id: told.append((topic, queue_id))
    clock.jump(3_600_000)
    order.alarm.ring()
    assert told == []
    clock.jump(-7_200_000)
    clock.now += 1000
    order.alarm.ring()
    assert told == [("T", 0)]


@pytest.mark.parametrize("jump", [0, -3_600_000])
def test_a_take_of_an_earlier_run_waits_no_longer_than_it_was_told_to(
    order: PopOrder, offsets: ConsumerOffsets, clock: FakeClock, tmp_path: Path, jump: int
) -> None:
    order.save()
    clock.jump(jump)
    again = PopOrder(offsets, Disk(), tmp_path, clock)
    again.load()
    clock.now += 999
    assert again.is_blocked("T", "G", 0, None)
    clock.now += 1
    assert not again.is_blocked("T", "G", 0, None)


def test_the_same_attempt_may_take_again(order: PopOrder) -> None:
    assert not order.is_blocked("T", "G", 0, "attempt")
    assert order.is_blocked("T", "G", 0, "other")


def test_a_message_may_be_hidden_longer(order: PopOrder, clock: FakeClock) -> None:
    order.hide("T", "G", 0, 3, START_MS, START_MS + 5000)
    clock.now += 4999
    assert order.is_blocked("T", "G", 0, None)
    clock.now += 1
    assert not order.is_blocked("T", "G", 0, None)


def test_other_groups_and_queues_are_free(order: PopOrder) -> None:
    assert not order.is_blocked("T", "other", 0, None)
    assert not order.is_blocked("T", "G", 1, None)


def test_an_acknowledgement_of_an_earlier_take_changes_nothing(order: PopOrder, offsets: ConsumerOffsets) -> None:
    order.ack("T", "G", 0, 3, START_MS - 1)
    assert (order.is_blocked("T", "G", 0, None), offsets.query("G", "T", 0)) == (True, 3)


@pytest.mark.parametrize("moved_to", [3, 0])
def test_an_offset_that_is_set_ends_the_take(order: PopOrder, offsets: ConsumerOffsets, moved_to: int) -> None:
    offsets.reset("G", "T", 0, moved_to)
    assert not order.is_blocked("T", "G", 0, None)


def test_a_take_tells_how_often_its_messages_were_taken_before(order: PopOrder, clock: FakeClock) -> None:
    clock.now += 1000
    assert order.taken("T", "G", 0, [3, 4, 5], 6, clock.now, 1000, "a") == ["0 qo0%3 1", "0 qo0%4 1", "0 0 0"]
    assert order.taken("T", "G", 0, [3, 4], 5, clock.now, 1000, "a") == ["0 qo0%3 1", "0 qo0%4 1", "0 0 1"]
    assert order.taken("T", "G", 0, [3], 4, clock.now, 1000, "b") == ["0 qo0%3 2", "0 0 2"]


def test_what_was_not_taken_or_is_acknowledged_is_not_hidden(order: PopOrder, clock: FakeClock, tmp_path: Path) -> None:
    order.ack("T", "G", 0, 3, START_MS)
    for offset in (2, 3, 5):
        order.hide("T", "G", 0, offset, START_MS, clock.now + 10_000)
    order.save()
    tree = json_file(Disk(), tmp_path / "consumerOrderInfo.json").load()
    assert tree is not None
    assert "ot" not in tree["table"]["T@G"][0]


def test_times_that_count_no_longer_are_forgotten(order: PopOrder, clock: FakeClock) -> None:
    for until in range(clock.now + 10_000, clock.now, -1):
        order.hide("T", "G", 0, 3, START_MS, until)
        order.hide("T", "G", 0, 4, START_MS, until)
    assert len(order._ends) < 100
    clock.now += 1
    assert not order.is_blocked("T", "G", 0, None)


def test_who_waits_is_told_when_a_queue_is_free(order: PopOrder, clock: FakeClock) -> None:
    told: list[tuple[str, int]] = []
    order.on_free = lambda topic, queue_id: told.append((topic, queue_id))
    order.hide("T", "G", 0, 4, START_MS, START_MS + 2000)
    clock.now += 1000
    order.alarm.ring()
    assert told == []
    clock.now += 1000
    order.alarm.ring()
    assert told == [("T", 0)]
    order.taken("T", "G", 0, [3], 4, clock.now, 1000, None)
    order.ack("T", "G", 0, 3, clock.now)
    assert told == [("T", 0), ("T", 0)]


def test_an_acknowledgement_may_bring_the_time_forward(order: PopOrder, clock: FakeClock) -> None:
    told: list[tuple[str, int]] = []
    order.on_free = lambda topic, queue_id: told.append((topic, queue_id))
    order.hide("T", "G", 0, 3, START_MS, START_MS + 500)
    order.ack("T", "G", 0, 4, START_MS)
    clock.now += 500
    order.alarm.ring()
    assert told == [("T", 0)]


async def test_takes_outlive_a_restart(
    order: PopOrder, offsets: ConsumerOffsets, clock: FakeClock, tmp_path: Path
) -> None:
    order.ack("T", "G", 0, 3, START_MS)
    order.hide("T", "G", 0, 4, START_MS, START_MS + 5000)
    order.save()
    again = PopOrder(offsets, Disk(), tmp_path, clock)
    again.load()
    clock.now += 4000
    assert again.is_blocked("T", "G", 0, "other")
    assert not again.is_blocked("T", "G", 0, "attempt")
    clock.now += 1000
    assert not again.is_blocked("T", "G", 0, "other")
    assert again.taken("T", "G", 0, [4], 5, clock.now, 1000, "other") == ["0 qo0%4 1", "0 0 1"]
    again.ack("T", "G", 0, 4, clock.now)
    assert offsets.query("G", "T", 0) == 5
    again.save()
    assert (tmp_path / "consumerOrderInfo.json").read_bytes() == b'{\n\t"table":{}\n}'


def test_the_file_has_the_form_of_rocketmq(order: PopOrder, tmp_path: Path) -> None:
    order.ack("T", "G", 0, 4, START_MS)
    order.hide("T", "G", 0, 3, START_MS, START_MS + 5000)
    order.save()
    tree = json_file(Disk(), tmp_path / "consumerOrderInfo.json").load()
    assert tree is not None
    take = tree["table"]["T@G"][0]
    assert {name: take[name] for name in ("popTime", "i", "o", "l", "cm", "a")} == {
        "popTime": START_MS, "i": 1000, "o": [3, 1], "l": START_MS, "cm": 2, "a": "attempt",
    }  # fmt: skip
    assert {int(offset): time for offset, time in take["ot"].items()} == {3: START_MS + 5000}


def test_a_file_that_apache_wrote_is_kept_as_it_is(offsets: ConsumerOffsets, clock: FakeClock, tmp_path: Path) -> None:
    """Written by Apache RocketMQ 5.3.3 after one orderly take of two messages."""
    text = (
        '{"table":{"ordered@og":{1:{"a":"att-1","cm":0,"i":60000,"l":1794801042775,"o":[0,1],'
        '"popTime":1794801042756}}}}'
    )
    (tmp_path / "consumerOrderInfo.json").write_text(text)
    order = PopOrder(offsets, Disk(), tmp_path, clock)
    order.load()
    order.save()
    assert json_file(Disk(), tmp_path / "consumerOrderInfo.json").load() == java_json.loads(text)


def test_a_take_tells_when_it_was(order: PopOrder, tmp_path: Path) -> None:
    order.save()
    tree = json_file(Disk(), tmp_path / "consumerOrderInfo.json").load()
    assert tree is not None
    assert tree["table"]["T@G"][0].keys() == {"a", "cm", "i", "l", "o", "popTime"}
    assert tree["table"]["T@G"][0]["l"] == START_MS


def test_a_file_of_another_form_frees_the_queues(offsets: ConsumerOffsets, clock: FakeClock, tmp_path: Path) -> None:
    (tmp_path / "consumerOrderInfo.json").write_text('{"table":{"T@G":{0:{"o":["x"]}}}}')
    order = PopOrder(offsets, Disk(), tmp_path, clock)
    order.load()
    assert not order.is_blocked("T", "G", 0, None)
