from __future__ import annotations

from pathlib import Path

from tests.fault.disk import SimDisk, keep_nothing

from sprocketmq.store.files.disk import Disk
from sprocketmq.store.timer.log import BLANK, UNIT, UNIT_SIZE, TimerCheck, TimerLog, TimerUnit, read_timer_check

FILE_SIZE = 3 * UNIT_SIZE + BLANK.size + 5


def unit(commit_offset: int, previous: int = -1) -> TimerUnit:
    return TimerUnit(UNIT_SIZE, previous, 1, 1_700_000_000_000, 4000, commit_offset, 100, 7, 0)


def open_log(folder: Path) -> TimerLog:
    return TimerLog(Disk(), folder, FILE_SIZE)


def test_units_are_found_where_they_were_put(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    positions = [log.append(unit(number)) for number in range(7)]
    assert positions[:4] == [0, 52, 104, FILE_SIZE]
    assert [found.commit_offset for found in map(log.get, positions) if found is not None] == list(range(7))
    assert [position for position, _ in log.runs(0)] == positions[::3]
    units = [fields for _, data in log.runs(positions[4]) for fields in UNIT.iter_unpack(data)]
    assert [TimerUnit(*fields).commit_offset for fields in units] == [4, 5, 6]
    assert log.get(positions[-1] + UNIT_SIZE) is None
    assert log.get(10 * FILE_SIZE) is None


def test_a_file_ends_with_a_blank(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    for number in range(4):
        log.append(unit(number))
    data = (tmp_path / "00000000000000000000").read_bytes()
    assert len(data) == FILE_SIZE
    assert BLANK.unpack_from(data, 156) == (FILE_SIZE - 156, 0, -875286124)


def test_a_log_goes_on_where_it_ended(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    for number in range(5):
        log.append(unit(number))
    log.close()
    again = open_log(tmp_path)
    last = again.last()
    assert last is not None
    assert (again.end, last.commit_offset) == (log.end, 4)
    assert again.append(unit(5)) == log.end


def test_an_empty_log_has_no_last_unit(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    assert (log.end, log.last()) == (0, None)


def test_files_of_messages_that_are_gone_are_deleted(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    for number in range(7):
        log.append(unit(number))
    log.remove_before(5)
    assert log.begin == FILE_SIZE
    log.remove_before(100)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{2 * FILE_SIZE:020d}"]


def test_the_check_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "timercheck"
    assert read_timer_check(Disk(), path) == TimerCheck()
    check = TimerCheck(read_time=1, log_position=2, queue_offset=3, master_queue_offset=4, timestamp=5, counter=6)
    path.write_bytes(check.encode())
    assert path.stat().st_size == 4096
    assert read_timer_check(Disk(), path) == check


def test_a_new_log_outlives_a_power_cut() -> None:
    """The folder's name too, and not only when something else syncs the folder above."""
    disk = SimDisk()
    log = TimerLog(disk, disk.root / "timerlog", FILE_SIZE)
    log.append(unit(3))
    log.sync()
    after = TimerLog(disk.power_cut(keep_nothing), disk.root / "timerlog", FILE_SIZE)
    assert after.last() == unit(3)
