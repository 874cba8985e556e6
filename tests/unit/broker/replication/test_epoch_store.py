from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fault.disk import PowerCut, SimDisk, keep_nothing
from tests.unit.protocol.ha.golden_streams import recorded

from sprocketmq.broker.replication.epoch_store import FILE_NAME, EpochStore
from sprocketmq.protocol.ha.epochs import Epoch
from sprocketmq.store.files.files import Disk


def loaded(path: Path, log_end: int = 10_000) -> EpochStore:
    store = EpochStore(Disk(), path)
    store.load(log_end)
    return store


def test_the_files_are_those_of_rocketmq(tmp_path: Path) -> None:
    store = loaded(tmp_path / FILE_NAME)
    store.lead(1, 0)
    store.add(Epoch(2, 3021))
    assert (tmp_path / FILE_NAME).read_bytes() == recorded("files", "broker0.epochFileCheckpoint")
    assert (tmp_path / f"{FILE_NAME}.bak").read_bytes() == recorded("files", "broker0.epochFileCheckpoint.bak")
    assert loaded(tmp_path / FILE_NAME).list == store.list


def test_a_torn_file_is_replaced_by_the_one_before(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = loaded(tmp_path / FILE_NAME)
    store.lead(1, 0)
    store.add(Epoch(2, 3021))
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


@pytest.mark.parametrize("begin", [lambda store: store.add(Epoch(1, 0)), lambda store: store.lead(1, 0)])
def test_an_epoch_that_cannot_be_kept_begins_with_the_next_try(
    tmp_path: Path, begin: Callable[[EpochStore], None]
) -> None:
    """Else its bytes would be acknowledged, and a restart would not know whose they are."""
    disk = FullDisk()
    store = EpochStore(disk, tmp_path / FILE_NAME)
    with pytest.raises(OSError, match="No space"):
        begin(store)
    assert len(store.list) == 0
    disk.full = False
    begin(store)
    assert loaded(tmp_path / FILE_NAME).list.all == store.list.all == (Epoch(1, 0),)


def test_epochs_behind_the_log_were_never_seen(tmp_path: Path) -> None:
    store = loaded(tmp_path / FILE_NAME)
    store.lead(1, 0)
    store.add(Epoch(2, 3021))
    assert loaded(tmp_path / FILE_NAME, 3021).list.all == (Epoch(1, 0), Epoch(2, 3021))
    assert loaded(tmp_path / FILE_NAME, 3020).list.all == (Epoch(1, 0),)


def test_a_master_drops_what_it_thought_it_had(tmp_path: Path) -> None:
    store = loaded(tmp_path / FILE_NAME)
    store.lead(1, 0)
    store.lead(4, 100)
    store.lead(3, 90)
    assert loaded(tmp_path / FILE_NAME).list.all == (Epoch(1, 0), Epoch(3, 90))


def test_an_epoch_is_durable_before_anything_follows_it() -> None:
    path = Path("/store") / FILE_NAME
    for step in range(1, 20):
        disk = SimDisk()
        store = EpochStore(disk, path)
        store.lead(1, 0)
        disk.faults.cut_at = disk.faults.steps + step
        try:
            store.add(Epoch(2, 100))
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
