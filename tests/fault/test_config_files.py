"""The power goes at every step of saving a table: there is the old one or the new one, never neither."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.fault.disk import Choose, Faults, PowerCut, SimDisk, keep_everything, keep_nothing, keep_some
from tests.fault.source import SimSource

from sprocketmq.protocol.bodies.group import SubscriptionGroupConfig
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.store.files.config_files import (
    ConfigFile,
    ConsumerFilters,
    DelayOffsets,
    SavedOffsets,
    SavedTopics,
    SubscriptionGroups,
    TopicFilters,
    consumer_filters_file,
    consumer_offsets_file,
    delay_offsets_file,
    subscription_groups_file,
    topics_file,
)
from sprocketmq.store.files.deleted_topics import FILE_NAME, DeletedTopics, Deletion
from sprocketmq.store.files.files import Files
from sprocketmq.store.view.configs import deletions

CONFIG = Path("/store/config")
CHOICES: list[Choose] = [keep_nothing, keep_everything, *(keep_some(Random(seed)) for seed in range(30))]


def version(number: int) -> DelayOffsets:
    return DelayOffsets(offset_table={1: number, 2: 7 * number})


def saved(count: int) -> SimDisk:
    disk = SimDisk()
    disk.make_dirs(CONFIG)
    disk.sync_dir(disk.root)
    for number in range(1, count + 1):
        delay_offsets_file(disk, CONFIG).save(version(number))
    return disk


def steps_of_a_save() -> int:
    disk = saved(1)
    disk.faults = Faults()
    delay_offsets_file(disk, CONFIG).save(version(2))
    return disk.faults.steps


@pytest.mark.parametrize("before", [0, 1, 2, 3])
@pytest.mark.parametrize("step", range(1, steps_of_a_save() + 2))
def test_old_or_new(before: int, step: int) -> None:
    for choose in CHOICES:
        disk = saved(before)
        disk.faults = Faults(cut_at=step)
        done = False
        with suppress(PowerCut):
            delay_offsets_file(disk, CONFIG).save(version(before + 1))
            done = True
        after = disk.power_cut(choose)
        found = delay_offsets_file(after, CONFIG).load()
        allowed = [version(before + 1)] if done else [version(before + 1), version(before) if before else None]
        assert found in allowed, f"{found} after {before} saves and a cut at step {step}"
        delay_offsets_file(after, CONFIG).save(version(99))
        assert delay_offsets_file(after.power_cut(keep_nothing), CONFIG).load() == version(99)


@pytest.mark.parametrize("damaged", [b"", b"{", b"[1]", bytes(64)])
def test_the_older_table_is_not_taken_without_a_word(damaged: bytes, caplog: pytest.LogCaptureFixture) -> None:
    disk = saved(2)
    path = delay_offsets_file(disk, CONFIG).path
    disk.write_bytes(path, damaged)
    assert delay_offsets_file(disk, CONFIG).load() == version(1)
    assert f"{path} cannot be read" in caplog.text


TABLES: dict[str, tuple[Callable[[Files, Path], ConfigFile[Any]], Any]] = {
    "topicConfigTable": (topics_file, SavedTopics(topic_config_table={"T": TopicConfig(topic_name="T")})),
    "subscriptionGroupTable": (
        subscription_groups_file,
        SubscriptionGroups(subscription_group_table={"G": SubscriptionGroupConfig(group_name="G")}),
    ),
    "offsetTable": (consumer_offsets_file, SavedOffsets(offset_table={"T@G": {0: 7}})),
    "filterDataByTopic": (consumer_filters_file, ConsumerFilters(filter_data_by_topic={"T": TopicFilters(topic="T")})),
}


@pytest.mark.parametrize("table", TABLES)
def test_a_damaged_name_of_a_table_does_not_make_it_an_empty_one(table: str) -> None:
    make, content = TABLES[table]
    disk = SimDisk()
    for _ in range(2):
        make(disk, CONFIG).save(content)
    path = make(disk, CONFIG).path
    disk.damage(path, disk.read_bytes(path).index(table.encode()), b"~")
    assert make(disk, CONFIG).load() == content  # its .bak


@pytest.mark.parametrize("damaged", [b"deletedTopics", b"commitOffset", b"storeTimestamp", b"100"])
def test_deletions_that_cannot_be_read_are_taken_from_the_file_before(damaged: bytes) -> None:
    disk, table = SimDisk(), {"T": Deletion(100, 2000)}
    for _ in range(2):
        DeletedTopics(disk, CONFIG).write(table)
    path = CONFIG / FILE_NAME
    disk.damage(path, disk.read_bytes(path).index(damaged), b"~")
    found = DeletedTopics(disk, CONFIG)
    found.load()
    assert found.table == table
    assert deletions(SimSource(disk)) == table
