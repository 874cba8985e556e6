"""Files that were cut short, lost, emptied or overwritten: what is hit is lost, the rest is served."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from tests.fault.disk import SimDisk
from tests.fault.images import ABORT, CHECKPOINT, Image, copy_of, make_image
from tests.fault.ledger import ROOT, Place, TickingClock, check, check_serves, everything, open_store

from sprocketmq.store.files.layout import file_name
from sprocketmq.store.recovery.quarantine import quarantined, replay

COUNT = 150
QUEUE = ROOT / "consumequeue" / "Alpha" / "1"


@pytest.fixture(scope="module", params=["stopped", "killed"])
def image(request: pytest.FixtureRequest) -> Image:
    return make_image(COUNT, clean=request.param == "stopped")


def recover(image: Image, disk: SimDisk, lost: frozenset[Place] = frozenset()) -> set[Place]:
    """Opens what a fault left; everything but `lost` is there, and the store serves. Opens it a second time, too."""
    ledger = copy_of(image.ledger)
    store = open_store(disk, image.config, TickingClock(image.now_ms))
    found = check(store, ledger, lost=lost)
    check_serves(store, ledger)
    store.close()
    again = open_store(disk, image.config, TickingClock(image.now_ms + 60_000))
    check(again, ledger, lost=lost)
    again.abandon()
    return set(found)


def index_files(disk: SimDisk) -> list[str]:
    return disk.list_dir(ROOT / "index")


def test_the_image_is_worth_damaging(image: Image) -> None:
    disk = image.disk
    assert len(disk.list_dir(ROOT / "commitlog")) >= 4
    assert len(disk.list_dir(QUEUE)) >= 1
    assert len(index_files(disk)) >= 3
    assert recover(image, disk.copy()) == set(image.places)


def test_a_middle_file_that_is_missing(image: Image) -> None:
    size = image.file_size
    disk = image.disk.copy()
    disk.lose(image.log_file(size))
    recover(image, disk, image.overlapping(size, 2 * size))


def test_a_first_file_that_is_missing(image: Image) -> None:
    """As if it had expired."""
    disk = image.disk.copy()
    disk.lose(image.log_file(0))
    recover(image, disk, image.overlapping(0, image.file_size))


@pytest.mark.parametrize("kept", [0, 1, 100, 4096, 8000])
def test_a_middle_file_that_was_cut_short(image: Image, kept: int) -> None:
    size = image.file_size
    disk = image.disk.copy()
    disk.set_size(image.log_file(size), kept)
    recover(image, disk, image.overlapping(size + kept, 2 * size))


@pytest.mark.parametrize("kept", [0, 1, 100, 1000])
def test_a_last_file_that_was_cut_short(image: Image, kept: int) -> None:
    base = image.end - image.end % image.file_size
    disk = image.disk.copy()
    disk.set_size(image.log_file(base), kept)
    recover(image, disk, image.overlapping(base + kept, image.end))


@pytest.mark.parametrize("kept", [0, 1])
def test_a_first_file_that_was_cut_short(image: Image, kept: int) -> None:
    disk = image.disk.copy()
    disk.set_size(image.log_file(0), kept)
    recover(image, disk, image.overlapping(0, image.file_size))


KINDS_OF_DAMAGE = (
    "a file is missing", "the first is empty", "one is short", "the last is empty", "the last is zero",
    "the last is garbage",
)  # fmt: skip


def damage_every_kind(image: Image) -> dict[str, tuple[Callable[[SimDisk], object], str]]:
    """What hits messages that were safe, and what is said of it."""
    size, last = image.file_size, image.end - image.end % image.file_size
    end_lost = "entries of queues point behind it"
    return {
        "a file is missing": (lambda disk: disk.lose(image.log_file(size)), f"no file from {size} to {2 * size}"),
        "the first is empty": (lambda disk: disk.set_size(image.log_file(0), 0), f"{image.log_file(0)} has lost its"),
        "one is short": (lambda disk: disk.set_size(image.log_file(size), 99), f"{image.log_file(size)} has lost its"),
        "the last is empty": (lambda disk: disk.set_size(image.log_file(last), 0), end_lost),
        "the last is zero": (lambda disk: disk.damage(image.log_file(last), 0, bytes(size)), end_lost),
        "the last is garbage": (lambda disk: disk.damage(image.log_file(last), 0, b"\x55" * size), end_lost),
    }


@pytest.mark.parametrize("what", KINDS_OF_DAMAGE)
def test_a_log_that_has_lost_messages_says_so_at_the_start(
    image: Image, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    """After a clean stop as well, when nothing is searched for damage."""
    disk = image.disk.copy()
    damage, said = damage_every_kind(image)[what]
    damage(disk)
    open_store(disk, image.config, TickingClock(image.now_ms)).abandon()
    assert said in caplog.text


@pytest.mark.parametrize(
    ("damage", "number"),
    [
        *((lambda disk, path: disk.set_size(path, 0), number) for number in (0, 1, -1)),
        *((lambda disk, path: disk.set_size(path, 107), number) for number in (0, 1, -1)),
        *((lambda disk, path: disk.lose(path), number) for number in (0, 1, -1)),
    ],
)
def test_a_queue_that_lost_a_file_after_a_clean_stop_is_built_again(
    damage: Callable[[SimDisk, Path], object], number: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Its last file, too: the queue would end earlier, and give its offsets to other messages."""
    image = make_image(COUNT, clean=True, mapped_file_size_consume_queue=20 * 8)
    disk = image.disk.copy()
    names = sorted(disk.list_dir(QUEUE))
    assert len(names) >= 3
    damage(disk, QUEUE / names[number])
    assert recover(image, disk) == set(image.places)
    assert "built again" in caplog.text
    assert str(QUEUE) in caplog.text


@pytest.mark.parametrize("entries", [8, 40, 1000])
@pytest.mark.parametrize("number", [0, 3, 5, 20])
def test_a_queue_with_an_entry_that_is_zeros_does_not_end_there_after_a_clean_stop(number: int, entries: int) -> None:
    """Its offsets would be given out twice. Where halving does not meet the entry, it is a filler to readers."""
    image = make_image(COUNT - 1, clean=True, mapped_file_size_consume_queue=20 * entries)  # the last is of another
    disk = image.disk.copy()
    base = number // entries * entries
    disk.damage(QUEUE / file_name(20 * base), 20 * (number - base), bytes(20))
    hit = {place for place in image.places if (place.topic, place.queue_id, place.queue_offset) == ("Alpha", 1, number)}
    assert recover(image, disk, frozenset(hit)) >= set(image.places) - hit


def test_a_queue_that_lost_all_its_files_after_a_clean_stop_is_built_again() -> None:
    image = make_image(COUNT - 1, clean=True)
    disk = image.disk.copy()
    for name in disk.list_dir(QUEUE):
        disk.lose(QUEUE / name)
    disk.make_dirs(ROOT / "consumequeue" / "Empty" / "0")
    assert recover(image, disk) == set(image.places)
    assert not disk.exists(ROOT / "consumequeue" / "Empty" / "0")  # else every start would look for it


def test_an_entry_that_points_behind_the_log_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    image = make_image(COUNT, clean=True)
    disk = image.disk.copy()
    disk.damage(QUEUE / f"{0:020}", 40, (1 << 40).to_bytes(8, "big"))
    store = open_store(disk, image.config, TickingClock(image.now_ms))
    store.get_message("Alpha", 1, 2, 1, 1 << 20)
    assert f"offset {1 << 40}, where the log has no file" in caplog.text
    store.abandon()


def test_what_a_start_told_of_is_not_told_of_by_every_pull(image: Image, caplog: pytest.LogCaptureFixture) -> None:
    """Messages of a log file that is missing have fillers in a queue that was built without it."""
    disk = image.disk.copy()
    disk.lose(image.log_file(image.file_size))
    disk.lose(ROOT / "consumequeue")
    store = open_store(disk, image.config, TickingClock(image.now_ms))
    assert f"the log has no file from {image.file_size}" in caplog.text
    at, end = store.min_offset("Alpha", 1), store.max_offset("Alpha", 1)
    while at < end:
        at = store.get_message("Alpha", 1, at, 100, 1 << 20).next_begin_offset
    assert store.damaged.count == 0
    store.abandon()


def test_a_message_that_is_passed_over_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    image = make_image(COUNT, clean=True)
    disk = image.disk.copy()
    place = image.places[10]
    base = place.commit_offset - place.commit_offset % image.file_size
    disk.damage(image.log_file(base), place.commit_offset - base, bytes(4))
    store = open_store(disk, image.config, TickingClock(image.now_ms))
    for _ in range(2):
        store.get_message(place.topic, place.queue_id, place.queue_offset, 1, 1 << 20)
    assert caplog.text.count(f"{image.log_file(base)} at {place.commit_offset - base}: no whole message") == 1
    assert store.damaged.count == 2
    store.abandon()


def test_a_file_that_was_made_and_never_written(image: Image) -> None:
    for size in (0, image.file_size):
        disk = image.disk.copy()
        path = image.log_file(image.end + image.file_size)
        disk.create(path, size)
        disk.set_size(path, size)
        assert recover(image, disk.copy()) == set(image.places)


DAMAGE_TO_QUEUES: dict[str, Callable[[SimDisk], object]] = {
    "all queues are gone": lambda disk: disk.lose(ROOT / "consumequeue"),
    "a queue is gone": lambda disk: disk.lose(QUEUE),
    "a topic's queues are gone": lambda disk: disk.lose(QUEUE.parent),
    "a queue file is empty": lambda disk: disk.set_size(QUEUE / f"{0:020}", 0),
    "a queue file is short": lambda disk: disk.set_size(QUEUE / f"{0:020}", 107),
    "a queue file is zero": lambda disk: disk.damage(QUEUE / f"{0:020}", 0, bytes(800)),
    "a queue's last entries are zero": lambda disk: disk.damage(QUEUE / f"{0:020}", 500, bytes(300)),
    "a queue's first entries are zero": lambda disk: disk.damage(QUEUE / f"{0:020}", 0, bytes(300)),
    "a queue is ahead of the log": lambda disk: disk.damage(
        QUEUE / f"{0:020}", 780, (1 << 40).to_bytes(8, "big") + b"\0\0\1\0" + bytes(8)
    ),
    "an entry points elsewhere": lambda disk: disk.damage(QUEUE / f"{0:020}", 203, b"\1"),
    "an entry has another size": lambda disk: disk.damage(QUEUE / f"{0:020}", 210, b"\7"),
}


@pytest.mark.parametrize("what", DAMAGE_TO_QUEUES)
def test_queues_follow_the_log(image: Image, what: str) -> None:
    """After a crash everything is built again; after a clean stop at most the entry that was hit is missing."""
    disk = image.disk.copy()
    DAMAGE_TO_QUEUES[what](disk)
    hit = [place for place in image.places if (place.topic, place.queue_id) == ("Alpha", 1)]
    stopped = not disk.exists(ABORT)
    lost = frozenset(hit[10:11]) if what.startswith("an entry") else frozenset()
    if stopped and what in ("a queue file is zero", "a queue's first entries are zero"):
        lost = frozenset(hit)
    recover(image, disk, lost)


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_index_loses_no_message(image: Image, seed: int) -> None:
    """Messages are not lost with the index; a search may miss some of them until the index is rebuilt."""
    random, disk = Random(seed), image.disk.copy()
    path = ROOT / "index" / random.choice(index_files(disk))
    at = random.choice([0, 8, 16, 24, 32, 36, 40, 120, 160, random.randrange(disk.size(path) - 64)])
    disk.damage(path, at, random.randbytes(random.choice([1, 4, 8, 40])))
    store = open_store(disk, image.config, TickingClock(image.now_ms))
    assert everything(store) == image.ledger.acknowledged
    check_serves(store, copy_of(image.ledger))
    store.abandon()


@pytest.mark.parametrize("size", [0, 10, 300])
def test_an_index_that_is_gone_or_cut_short_is_built_again(image: Image, size: int) -> None:
    disk = image.disk.copy()
    if size:
        for name in index_files(disk):
            disk.set_size(ROOT / "index" / name, size)
    else:
        disk.lose(ROOT / "index")
    recover(image, disk)


DAMAGE_TO_CHECKPOINT: dict[str, Callable[[SimDisk], object]] = {
    "gone": lambda disk: disk.lose(CHECKPOINT),
    "empty": lambda disk: disk.set_size(CHECKPOINT, 0),
    "short": lambda disk: disk.set_size(CHECKPOINT, 11),
    "zero": lambda disk: disk.damage(CHECKPOINT, 0, bytes(40)),
    "negative": lambda disk: disk.damage(CHECKPOINT, 0, b"\xff" * 24),
    "in the far future": lambda disk: disk.damage(CHECKPOINT, 0, b"\x7f" * 24),
}


@pytest.mark.parametrize("what", DAMAGE_TO_CHECKPOINT)
def test_no_message_hangs_on_the_checkpoint(image: Image, what: str) -> None:
    disk = image.disk.copy()
    DAMAGE_TO_CHECKPOINT[what](disk)
    assert recover(image, disk) == set(image.places)


def test_whole_records_behind_a_cut_are_kept_and_can_be_replayed() -> None:
    image = make_image(60, clean=False, checkpoint=False)
    hit = image.places[20]
    disk = image.disk.copy()
    disk.damage(image.log_file(hit.commit_offset), hit.commit_offset + 95, b"\xff\xff")
    store = open_store(disk, image.config, TickingClock(image.now_ms))
    assert set(everything(store)) == set(image.places[:20])
    assert sum(kept.records for kept in store.report.quarantined) == 39
    for path in quarantined(disk, store.layout):
        replay(disk, path, store.put_record)
    store.flush()
    bodies = [image.ledger.acknowledged[place] for place in image.places if place != hit]
    assert sorted(everything(store).values()) == sorted(bodies)
    store.close()


def test_the_checkpoint_stays_when_nothing_was_written_since(image: Image) -> None:
    disk = image.disk.copy()
    store = open_store(disk, image.config, TickingClock(image.now_ms))
    before = store.checkpoint.flushed_timestamp
    store.write_checkpoint()
    assert store.checkpoint.flushed_timestamp >= before > 0
    store.close()
