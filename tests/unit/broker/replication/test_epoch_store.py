from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.fault.disk import PowerCut, SimDisk, keep_nothing
from tests.fault.held_disk import HeldDisk
from tests.unit.broker.replication.support import until
from tests.unit.protocol.ha.golden_streams import recorded

from sprocketmq.broker.replication.epoch_store import FILE_NAME, EpochStore
from sprocketmq.protocol.ha.epoch_file import decode_epoch_file
from sprocketmq.protocol.ha.epochs import Epoch
from sprocketmq.store.files.disk import Disk


def loaded(path: Path, log_end: int = 10_000) -> EpochStore:
    store = EpochStore(Disk(), path)
    store.load(log_end)
    return store


async def test_the_files_are_those_of_rocketmq(tmp_path: Path) -> None:
    first, *others = decode_epoch_file(recorded("files", "broker0.epochFileCheckpoint").decode()).all
    store = loaded(tmp_path / FILE_NAME, others[-1].start)
    await store.lead(first.epoch, first.start, first.start)
    for epoch in others:
        await store.add(epoch)
    assert (tmp_path / FILE_NAME).read_bytes() == recorded("files", "broker0.epochFileCheckpoint")
    assert (tmp_path / f"{FILE_NAME}.bak").read_bytes() == recorded("files", "broker0.epochFileCheckpoint.bak")
    assert loaded(tmp_path / FILE_NAME).list == store.list


async def test_a_torn_file_is_replaced_by_the_one_before(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = loaded(tmp_path / FILE_NAME)
    await store.lead(1, 0, 0)
    await store.add(Epoch(2, 3021))
    (tmp_path / FILE_NAME).write_text("2\n338835068\n1-0\n2-30")
    assert loaded(tmp_path / FILE_NAME).list.all == (Epoch(1, 0),)
    assert "epoch file not readable" in caplog.text
    (tmp_path / f"{FILE_NAME}.bak").write_text("")
    assert loaded(tmp_path / FILE_NAME).list.all == ()


class FullDisk(Disk):
    full = True

    def write_bytes(self, path: Path, data: bytes, *, sync: bool = True) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        super().write_bytes(path, data, sync=sync)


@pytest.mark.parametrize("begin", [lambda store: store.add(Epoch(1, 0)), lambda store: store.lead(1, 0, 0)])
async def test_an_epoch_that_cannot_be_kept_begins_with_the_next_try(
    tmp_path: Path, begin: Callable[[EpochStore], Awaitable[None]]
) -> None:
    """Else its bytes would be acknowledged, and a restart would not know whose they are."""
    disk = FullDisk()
    store = EpochStore(disk, tmp_path / FILE_NAME)
    with pytest.raises(OSError, match="No space"):
        await begin(store)
    assert len(store.list) == 0
    disk.full = False
    await begin(store)
    assert loaded(tmp_path / FILE_NAME).list.all == store.list.all == (Epoch(1, 0),)


async def test_epochs_behind_the_log_were_never_seen(tmp_path: Path) -> None:
    store = loaded(tmp_path / FILE_NAME)
    await store.lead(1, 0, 0)
    await store.add(Epoch(2, 3021))
    assert loaded(tmp_path / FILE_NAME, 3021).list.all == (Epoch(1, 0), Epoch(2, 3021))
    assert loaded(tmp_path / FILE_NAME, 3020).list.all == (Epoch(1, 0),)


async def test_a_master_drops_what_it_thought_it_had(tmp_path: Path) -> None:
    store = loaded(tmp_path / FILE_NAME)
    await store.lead(1, 0, 0)
    await store.lead(4, 0, 100)
    await store.lead(3, 0, 90)
    assert loaded(tmp_path / FILE_NAME).list.all == (Epoch(1, 0), Epoch(3, 90))


async def test_an_epoch_is_durable_before_anything_follows_it() -> None:
    path = Path("/store") / FILE_NAME
    for step in range(1, 20):
        disk = SimDisk()
        store = EpochStore(disk, path)
        await store.lead(1, 0, 0)
        disk.faults.cut_at = disk.faults.steps + step
        try:
            await store.add(Epoch(2, 100))
        except PowerCut:
            survived = EpochStore(disk.power_cut(keep_nothing), path)
            survived.load(1000)
            assert survived.list.all in ((Epoch(1, 0),), (Epoch(1, 0), Epoch(2, 100)))
            continue
        survived = EpochStore(disk.power_cut(keep_nothing), path)
        survived.load(1000)
        assert survived.list.all == (Epoch(1, 0), Epoch(2, 100))
        return
    pytest.fail("it never ended")


async def test_the_loop_waits_for_no_disk_and_changes_come_in_order(tmp_path: Path) -> None:
    disk = HeldDisk(tmp_path)
    store = EpochStore(disk, tmp_path / FILE_NAME)
    disk.going.clear()
    changes = [asyncio.ensure_future(change) for change in (store.lead(1, 0, 0), store.add(Epoch(2, 100)))]
    try:
        await until(disk.waiting.is_set)
        assert len(store.list) == 0
        store._saving_since = 0.0
        assert store.hangs()
        changes[0].cancel()  # nobody waits for it any more: it is written all the same, and not after the next
        await asyncio.wait([changes[0]])
        assert not changes[1].done()
    finally:
        disk.going.set()
    await changes[1]
    assert store.list.all == (Epoch(2, 100),)
    assert loaded(tmp_path / FILE_NAME).list == store.list
    assert disk.synced_by_loop == []
    assert not store.hangs()
