"""Topics, groups, offsets and filters: what is kept, and what a second start finds."""

from __future__ import annotations

import asyncio
import errno
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.loop_clock import LoopClock
from tests.unit.broker.support import FakeClock, make_settings, wants

from sprocketmq.broker.tables.groups import GroupTable
from sprocketmq.broker.tables.offsets import ConsumerOffsets
from sprocketmq.broker.tables.saver import Saver
from sprocketmq.broker.tables.sql_filters import FilterTable
from sprocketmq.broker.tables.topics import TopicTable
from sprocketmq.codes import ResponseCode
from sprocketmq.errors import ConfigError, FilterError, RequestRefused
from sprocketmq.filter.bloom import has_bits
from sprocketmq.protocol.bodies.group import SubscriptionGroupConfig
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.remoting.peer import peer_of
from sprocketmq.store.files.config_files import (
    consumer_filters_file,
    consumer_offsets_file,
    subscription_groups_file,
    topics_file,
)
from sprocketmq.store.files.disk import Disk


def make_topics(root: Path, clock: FakeClock, *, durable: bool = True, **entries: str) -> TopicTable:
    table = TopicTable(topics_file(Disk(), root), make_settings(root, **entries), clock, durable=durable)
    table.load()
    return table


def test_a_new_broker_has_the_system_topics(tmp_path: Path, clock: FakeClock) -> None:
    table = make_topics(tmp_path, clock)
    queues = {name: (config.write_queue_nums, config.perm) for name, config in table.configs.items()}
    assert queues == {
        "SELF_TEST_TOPIC": (1, 6), "TBW102": (8, 7), "BenchmarkTest": (1024, 6), "DefaultCluster": (16, 7),
        "broker-a": (1, 7), "OFFSET_MOVED_EVENT": (1, 6), "SCHEDULE_TOPIC_XXXX": (18, 6),
        "DefaultCluster_REPLY_TOPIC": (1, 6), "rmq_sys_REVIVE_LOG_DefaultCluster": (8, 6),
        "rmq_sys_SYNC_BROKER_MEMBER_broker-a": (1, 1), "RMQ_SYS_TRANS_HALF_TOPIC": (1, 6),
        "RMQ_SYS_TRANS_OP_HALF_TOPIC": (1, 6), "rmq_sys_wheel_timer": (1, 6),
    }  # fmt: skip


def test_the_trace_topic_and_the_model_topic_follow_their_switches(tmp_path: Path, clock: FakeClock) -> None:
    table = make_topics(tmp_path, clock, traceTopicEnable="true", autoCreateTopicEnable="false")
    assert "RMQ_SYS_TRACE_TOPIC" in table.configs
    assert "TBW102" not in table.configs
    with pytest.raises(RequestRefused) as refused:
        table.create_by_send("T", "DefaultCluster", 4)
    assert refused.value.code == ResponseCode.TOPIC_NOT_EXIST


async def test_topics_outlive_a_restart_and_each_change_raises_the_version(tmp_path: Path, clock: FakeClock) -> None:
    table = make_topics(tmp_path, clock)
    seen: list[str | None] = []
    table.on_change.append(lambda config: seen.append(None if config is None else config.topic_name))
    table.create_by_send("T", "TBW102", 16)
    await table.put(TopicConfig(topic_name="U", perm=4))
    assert table.create_own("U", 9).perm == 4  # it is there already
    await table.delete("T")
    await table.delete("T")
    assert seen == ["T", "U", None]
    again = make_topics(tmp_path, clock)
    assert again.data_version == table.data_version
    assert again.data_version.counter == 3
    assert again.configs == table.configs


async def test_deleted_topics_make_room_for_others(tmp_path: Path, clock: FakeClock) -> None:
    stranger = peer_of(("203.0.113.9", 1))
    system = len(make_topics(tmp_path, clock).configs)
    table = make_topics(tmp_path, clock, maxAutoCreatedTopics=str(system + 3))
    table.adopt({"Adopted": 1, "%RETRY%G": 1})
    table.create_own("%RETRY%H", 1)
    for topic in ("A", "B"):
        table.create_by_send(topic, "TBW102", 1, peer=stranger)
    with pytest.raises(RequestRefused):
        table.create_by_send("C", "TBW102", 1, peer=stranger)
    await table.put(table.configs["A"])
    await table.delete("%RETRY%G")
    await table.delete("nothing")
    with pytest.raises(RequestRefused):
        table.create_by_send("C", "TBW102", 1, peer=stranger)
    await table.delete("A")
    table.create_by_send("C", "TBW102", 1, peer=stranger)
    await table.saver.saved()
    again = make_topics(tmp_path, clock, maxAutoCreatedTopics=str(system + 4))
    again.create_by_send("D", "TBW102", 1, peer=stranger)
    with pytest.raises(RequestRefused):
        again.create_by_send("E", "TBW102", 1, peer=stranger)


async def test_a_table_is_saved_together_with_what_changes_soon_after(tmp_path: Path, clock: FakeClock) -> None:
    table = make_topics(tmp_path, clock, durable=False)
    for number in range(20):
        table.create_own(f"T{number}", 1)
    assert table.saver.dirty
    assert "T7" not in make_topics(tmp_path, clock).configs
    table.saver.close()
    assert "T7" in make_topics(tmp_path, clock).configs


async def test_after_a_crash_topics_with_messages_are_adopted(tmp_path: Path, clock: FakeClock) -> None:
    table = make_topics(tmp_path, clock)
    before = table.configs["BenchmarkTest"]
    table.adopt({"T": 1, "wide": 12, "%RETRY%G": 1, "BenchmarkTest": 3, "no topic": 1})
    await table.saver.saved()
    again = make_topics(tmp_path, clock).configs
    assert [again[name].write_queue_nums for name in ("T", "wide", "%RETRY%G")] == [4, 12, 1]
    assert again["BenchmarkTest"] == before
    assert "no topic" not in again


async def test_a_save_that_fails_is_tried_again() -> None:
    done = asyncio.Event()
    tries = []

    def write() -> None:
        tries.append(1)
        if len(tries) < 3:
            raise OSError("no space")
        done.set()

    Saver("t", lambda: write).soon()
    await asyncio.wait_for(done.wait(), 60)
    assert len(tries) == 3


class FailingDisk(Disk):
    """Writes fail so often, and the next ones wait until they may."""

    def __init__(self) -> None:
        self.failures = 0
        self.writes = 0
        self.may_write = threading.Event()
        self.may_write.set()

    def write_bytes(self, path: Path, data: bytes, *, sync: bool = True) -> None:
        self.may_write.wait(60)
        self.writes += 1
        if self.failures:
            self.failures -= 1
            raise OSError(errno.ENOSPC, "no space left on device")
        super().write_bytes(path, data, sync=sync)


async def test_what_cannot_be_saved_of_the_topics_is_as_it_was(tmp_path: Path, clock: FakeClock) -> None:
    disk = FailingDisk()
    table = TopicTable(topics_file(disk, tmp_path), make_settings(tmp_path), clock, durable=True)
    table.load()
    await table.put(TopicConfig(topic_name="kept", perm=6))
    changes: list[Callable[[], Awaitable[None]]] = [
        lambda: table.put(TopicConfig(topic_name="kept", perm=4)),
        lambda: table.delete("kept"),
    ]
    before = dict(table.configs)
    for change in changes:
        disk.failures = 1
        with pytest.raises(OSError, match="no space"):
            await change()
        assert table.configs == before
    assert table.saver.dirty
    table.saver.close()
    assert make_topics(tmp_path, clock).configs == before


async def test_a_topic_that_came_by_itself_says_until_when_it_is_unsaved(tmp_path: Path, clock: FakeClock) -> None:
    disk = FailingDisk()
    table = TopicTable(topics_file(disk, tmp_path), make_settings(tmp_path), clock, durable=True)
    table.load()
    disk.may_write.clear()
    table.create_own("T", 1)
    table.create_own("U", 1)
    assert 0 < table.unsaved("T") < table.unsaved("U")
    assert table.unsaved("V") == 0
    disk.may_write.set()
    async with asyncio.timeout(60):
        while table.unsaved("U"):  # noqa: ASYNC110 - the saver goes on by itself, whatever rest it would take
            await asyncio.sleep(0)
    assert {"T", "U"} <= make_topics(tmp_path, clock).configs.keys()


async def test_a_group_that_cannot_be_saved_is_as_it_was(tmp_path: Path, clock: FakeClock) -> None:
    disk = FailingDisk()
    groups = GroupTable(subscription_groups_file(disk, tmp_path), make_settings(tmp_path), clock)
    groups.load()
    await groups.put(SubscriptionGroupConfig(group_name="G"))
    before = dict(groups.configs)
    changes: list[Callable[[], Awaitable[object]]] = [
        lambda: groups.put(SubscriptionGroupConfig(group_name="H")),
        lambda: groups.delete("G"),
        lambda: groups.forbid("G", "T", 4, forbidden=True),
    ]
    for change in changes:
        disk.failures = 1
        with pytest.raises(OSError, match="no space"):
            await change()
        assert (groups.configs, groups.forbidden) == (before, {})


async def test_what_could_not_be_saved_is_saved_by_the_stop(tmp_path: Path, clock: FakeClock) -> None:
    disk = FailingDisk()
    offsets = ConsumerOffsets(consumer_offsets_file(disk, tmp_path), clock)
    offsets.commit("G", "T", 0, 3)
    offsets.save()
    offsets.commit("G", "T", 0, 10)
    disk.failures = 1
    with pytest.raises(OSError, match="no space"):
        await offsets.saver.saved()
    assert offsets.saver.dirty
    offsets.save()
    assert make_offsets(tmp_path, clock).queues("G", "T") == {0: 10}


async def test_the_loop_goes_on_while_a_table_is_saved(tmp_path: Path, clock: FakeClock) -> None:
    disk = FailingDisk()
    offsets = ConsumerOffsets(consumer_offsets_file(disk, tmp_path), clock)
    offsets.commit("G", "T", 0, 3)
    disk.may_write.clear()
    offsets.saver.begin()
    offsets.commit("G", "T", 0, 4)  # what comes meanwhile is saved the next time
    offsets.saver.begin()
    disk.may_write.set()
    await offsets.saver.saved()
    assert disk.writes == 2
    assert make_offsets(tmp_path, clock).queues("G", "T") == {0: 4}


async def test_what_changes_during_a_save_waits_for_the_next(
    tmp_path: Path, clock: FakeClock, loop_clock: LoopClock
) -> None:
    disk = FailingDisk()
    offsets = ConsumerOffsets(consumer_offsets_file(disk, tmp_path), clock)
    offsets.commit("G", "T", 0, 1)
    saved = asyncio.ensure_future(offsets.saver.saved())
    await asyncio.sleep(0)
    offsets.commit("G", "T", 0, 2)
    await saved
    loop_clock.advance(60)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not offsets.saver.busy
    assert offsets.saver.dirty


async def test_a_million_offsets_cost_the_loop_next_to_nothing(tmp_path: Path, clock: FakeClock) -> None:
    offsets = ConsumerOffsets(consumer_offsets_file(Disk(), tmp_path), clock)
    for number in range(50_000):
        offsets.table[f"T{number}@G"] = dict.fromkeys(range(19), number)
        offsets.commit("G", f"T{number}", 19, number)
    began = time.thread_time()
    offsets.saver.begin()
    assert time.thread_time() - began < 0.05
    await offsets.saver.saved()


async def test_offsets_wait_for_the_log(tmp_path: Path, clock: FakeClock) -> None:
    offsets = make_offsets(tmp_path, clock)
    log, path = threading.Event(), tmp_path / "consumerOffset.json"
    asked = threading.Event()

    def wait_for_log() -> None:
        asked.set()
        assert log.wait(60)

    offsets.log_is_safe = wait_for_log
    offsets.commit("G", "T", 0, 5)
    offsets.saver.begin()
    await asyncio.to_thread(asked.wait, 60)
    assert not path.exists()
    log.set()
    await offsets.saver.saved()
    assert make_offsets(tmp_path, clock).queues("G", "T") == {0: 5}


def make_groups(root: Path, clock: FakeClock, **entries: str) -> GroupTable:
    table = GroupTable(subscription_groups_file(Disk(), root), make_settings(root, **entries), clock)
    table.load()
    return table


async def test_groups_come_by_themselves_where_that_is_allowed(tmp_path: Path, clock: FakeClock) -> None:
    groups = make_groups(tmp_path, clock)
    found = groups.get("G")
    assert found is not None
    assert found.retry_max_times == 16
    assert groups.get("bad name") is None
    assert groups.get("x" * 256) is None
    groups.saver.close()
    closed = make_groups(tmp_path, clock, autoCreateSubscriptionGroup="false")
    assert closed.get("G") == found
    assert closed.get("H") is None
    assert closed.get("CID_RMQ_SYS_anything") is not None


async def test_a_group_may_be_kept_from_a_topic(tmp_path: Path, clock: FakeClock) -> None:
    groups = make_groups(tmp_path, clock)
    await groups.forbid("G", "T", 4, forbidden=True)
    assert groups.forbidden == {"G": {"T": 4}}
    assert make_groups(tmp_path, clock).is_forbidden("G", "T", 4)
    assert not groups.is_forbidden("G", "T", 2)
    assert not groups.is_forbidden("G", "U", 4)


def make_offsets(root: Path, clock: FakeClock) -> ConsumerOffsets:
    offsets = ConsumerOffsets(consumer_offsets_file(Disk(), root), clock)
    offsets.load()
    return offsets


def test_offsets_are_saved_when_they_changed(tmp_path: Path, clock: FakeClock) -> None:
    offsets = make_offsets(tmp_path, clock)
    offsets.save()
    assert not (tmp_path / "consumerOffset.json").exists()
    offsets.commit("G", "T", 0, 5)
    offsets.commit("G", "T", 1, 6)
    offsets.commit("G", "T", 1, 4)  # back, as its owner wants it
    offsets.save()
    again = make_offsets(tmp_path, clock)
    assert again.queues("G", "T") == {0: 5, 1: 4}
    assert again.query("G", "T", 2) is None
    assert (again.topics_of("G"), again.groups_of("T")) == ({"T"}, {"G"})


def test_after_a_crash_no_offset_is_beyond_its_queue(tmp_path: Path, clock: FakeClock) -> None:
    offsets = make_offsets(tmp_path, clock)
    for queue_id, offset in enumerate((15, 5, 0)):
        offsets.commit("G", "T", queue_id, offset)
    offsets.clamp(lambda topic, queue_id: {("T", 0): 5, ("T", 1): 9}.get((topic, queue_id), 0))
    assert offsets.queues("G", "T") == {0: 5, 1: 5, 2: 0}


def test_a_reset_holds_until_it_is_taken(tmp_path: Path, clock: FakeClock) -> None:
    offsets = make_offsets(tmp_path, clock)
    offsets.reset("G", "T", 0, 3)
    offsets.commit("G", "T", 0, 99)
    assert offsets.query("G", "T", 0) == 3
    assert offsets.take_reset("G", "T", 0) == 3
    assert offsets.take_reset("G", "T", 0) is None
    offsets.commit("G", "T", 0, 4)
    assert offsets.query("G", "T", 0) == 4


def test_groups_and_topics_can_be_forgotten(tmp_path: Path, clock: FakeClock) -> None:
    offsets = make_offsets(tmp_path, clock)
    for topic, group in (("T", "G"), ("T", "H"), ("U", "G")):
        offsets.commit(group, topic, 0, 1)
    offsets.forget_topic("T")
    assert set(offsets.table) == {"U@G"}
    offsets.forget_group("G")
    assert offsets.table == {}


def make_filters(root: Path, clock: FakeClock, **entries: str) -> FilterTable:
    filters = FilterTable(consumer_filters_file(Disk(), root), make_settings(root, **entries), clock)
    filters.load()
    return filters


def test_the_bits_of_a_message_tell_which_groups_want_it(tmp_path: Path, clock: FakeClock) -> None:
    filters = make_filters(tmp_path, clock)
    assert filters.bits("T", b"a\x015\x02") is None
    filters.subscribe("G", wants("T", "a = 5", kind="SQL92"))
    filters.subscribe("H", wants("T", "a = 6", kind="SQL92"))
    bits = filters.bits("T", b"a\x015\x02")
    assert bits is not None
    assert has_bits(bits, filters.bloom.data("G", "T").positions)
    assert not has_bits(bits, filters.bloom.data("H", "T").positions)
    with pytest.raises(FilterError):
        filters.subscribe("G", wants("T", "a =", version=2, kind="SQL92"))


def test_filters_of_groups_that_are_gone_are_kept_for_a_day(tmp_path: Path, clock: FakeClock) -> None:
    filters = make_filters(tmp_path, clock)
    filters.subscribe("G", wants("T", "a = 5", kind="SQL92"))
    filters.group_gone("G")
    filters.save()
    clock.now += 86_400_000
    again = make_filters(tmp_path, clock)
    again.save()
    assert "a = 5" in (tmp_path / "consumerFilter.json").read_text()
    clock.now += 2
    again.save()
    assert "a = 5" not in (tmp_path / "consumerFilter.json").read_text()


def test_filters_of_groups_that_are_gone_take_so_much(tmp_path: Path, clock: FakeClock) -> None:
    filters = make_filters(tmp_path, clock)
    for number in range(200):
        for group in ("G", "H"):
            filters.subscribe(group, wants(f"T{number}", f"a = '{'x' * 60_000}'", kind="SQL92"))
            filters.group_gone(group)
    filters.save()
    kept = consumer_filters_file(Disk(), tmp_path).load()
    assert kept is not None
    assert 120 < sum(len(topic.group_filter_data) for topic in kept.filter_data_by_topic.values()) < 140
    assert set(kept.filter_data_by_topic["T199"].group_filter_data) == {"G", "H"}
    assert "T0" not in kept.filter_data_by_topic


def test_a_filter_whose_group_is_here_again_is_not_forgotten(tmp_path: Path, clock: FakeClock) -> None:
    filters = make_filters(tmp_path, clock)
    filters.subscribe("G", wants("T", "a = 5", kind="SQL92"))
    filters.group_gone("G")
    filters.subscribe("G", wants("T", "a = 5", kind="SQL92"))
    clock.now += 2 * 24 * 3600 * 1000
    filters.save()
    kept = consumer_filters_file(Disk(), tmp_path).load()
    assert kept is not None
    assert set(kept.filter_data_by_topic) == {"T"}


async def test_settings_that_were_changed_outlive_a_restart(tmp_path: Path) -> None:
    settings = make_settings(tmp_path)
    told: list[int] = []
    settings.on_change.append(lambda config: told.append(config.broker_permission))
    await settings.update({"brokerPermission": "4"}, 5)
    assert told == [4]
    for refused in ({"brokerName": "x"}, {"nonsense": "x"}, {"brokerPermission": "99"}):
        with pytest.raises(ConfigError):
            await settings.update(refused, 6)
    again = make_settings(tmp_path)
    again.load()
    assert again.current.broker_permission == 4
    assert again.entries()["flushDiskType"] == "ASYNC_FLUSH"
