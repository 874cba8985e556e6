"""The power goes at every step of saving a table: there is the old one or the new one, never neither."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from tests.fault.disk import Choose, Faults, PowerCut, SimDisk, keep_everything, keep_nothing, keep_some

from sprocketmq.store.files.config_files import DelayOffsets, delay_offsets_file

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
