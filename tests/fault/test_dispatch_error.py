"""A queue file that cannot be made: its own queue waits or refuses, nobody else is stopped, and it heals by itself."""

from __future__ import annotations

import asyncio
import errno
import os
import re
from pathlib import Path

import pytest
from tests.fault.ledger import TickingClock
from tests.unit.broker.support import START_MS, Caller, FakeClock, bodies, make_settings

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import ResponseCode
from sprocketmq.store.config import StoreConfig
from sprocketmq.store.files.disk import Disk, DiskFile
from sprocketmq.store.log.append import PutStatus
from sprocketmq.store.store import MessageStore

#: Two entries in a file: the third message needs another.
SMALL = {"flushDiskType": "SYNC_FLUSH", "mappedFileSizeConsumeQueue": "40"}
HOST = bytes([127, 0, 0, 1, 0, 0, 42, 159])


class LockedFolder(Disk):
    """No further file can be made in the queues of topic X while it is locked."""

    def __init__(self) -> None:
        self.locked = False

    def create(self, path: Path, size: int) -> DiskFile:
        if self.locked and path.parent.parent.name == "X":
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        return super().create(path, size)


def put(store: MessageStore, topic: str, body: bytes) -> int:
    return store.put(topic, 0, 0, 0, body, b"", START_MS, HOST, 0, 0).status


def stored(store: MessageStore, topic: str) -> list[bytes]:
    entries = [store.reader.entry(topic, 0, offset) for offset in range(store.max_offset(topic, 0))]
    records = [store.reader.record_at(entry.commit_offset) for entry in entries if entry is not None]
    return [record.body for record in records if record is not None]


def open_store(root: Path, disk: Disk) -> MessageStore:
    config = StoreConfig.from_properties({**SMALL, "storePathRootDir": str(root), "mappedFileSizeCommitLog": "65536"})
    return MessageStore.open(config, files=disk, clock=TickingClock(), background=False)


def hold(root: Path, disk: LockedFolder) -> MessageStore:
    """A store with three messages in the log for X and room for two in its queue."""
    store = open_store(root, disk)
    for body in (b"0", b"1", b"2"):
        assert put(store, "X", body) == PutStatus.PUT_OK
    disk.locked = True
    assert put(store, "Y", b"other") == PutStatus.PUT_OK
    store.flush()
    return store


def test_a_queue_that_cannot_be_written_holds_its_own_messages(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk = LockedFolder()
    store = hold(tmp_path, disk)
    assert (stored(store, "X"), stored(store, "Y")) == ([b"0", b"1"], [b"other"])
    assert len(store.held) == 1
    assert str(tmp_path / "consumequeue" / "X" / "0" / "00000000000000000040") in caplog.text
    assert put(store, "X", b"refused") == PutStatus.CREATE_MAPPED_FILE_FAILED
    assert put(store, "Y", b"more") == PutStatus.PUT_OK
    store.held.heal()
    assert len(store.held) == 1
    disk.locked = False
    store.held.heal()
    assert stored(store, "X") == [b"0", b"1", b"2"]
    assert put(store, "X", b"3") == PutStatus.PUT_OK
    store.flush()
    assert (stored(store, "X"), stored(store, "Y")) == ([b"0", b"1", b"2", b"3"], [b"other", b"more"])
    store.close()


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_start_finds_what_was_held(tmp_path: Path, is_killed: bool) -> None:
    disk = LockedFolder()
    store = hold(tmp_path, disk)
    if is_killed:
        store.write_checkpoint()
        store.abandon()
    else:
        store.close()
    again = open_store(tmp_path, disk)  # the folder is locked still
    assert stored(again, "X") == [b"0", b"1"]
    disk.locked = False
    again.held.heal()
    assert stored(again, "X") == [b"0", b"1", b"2"]
    assert put(again, "X", b"3") == PutStatus.PUT_OK
    again.flush()
    again.close()
    last = open_store(tmp_path, disk)
    assert last.report.clean
    assert stored(last, "X") == [b"0", b"1", b"2", b"3"]
    last.close()


def test_a_deleted_topic_is_held_no_more(tmp_path: Path) -> None:
    store = hold(tmp_path, LockedFolder())
    store.delete_topic("X")
    store.held.heal()
    assert len(store.held) == 0
    store.close()


async def test_a_broker_tries_a_held_queue_again(tmp_path: Path) -> None:
    disk = LockedFolder()
    settings = make_settings(tmp_path / "store", **SMALL)
    broker = Broker(settings.current, settings.store, files=disk, clock=FakeClock())
    await broker.start()
    caller = Caller(broker)
    for topic in "XY":
        assert (await caller.send(topic, body=b"0")).code == ResponseCode.SUCCESS
    for body in (b"1", b"2"):  # in one turn: no dispatch comes between
        assert put(broker.store, "X", body) == PutStatus.PUT_OK
    disk.locked = True
    async with asyncio.timeout(60):
        while not broker.store.held:  # noqa: ASYNC110 - it is logged and counted
            await asyncio.sleep(0.01)
        assert (await caller.send("X")).code == ResponseCode.SERVICE_NOT_AVAILABLE
        assert (await caller.send("Y", body=b"1")).code == ResponseCode.SUCCESS
        assert re.search(r"^sprocketmq_held_queues\{.*\} 1$", broker.metrics.text(), re.MULTILINE)
        disk.locked = False
        while broker.store.held:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert (await caller.send("X", body=b"3")).code == ResponseCode.SUCCESS
    assert stored(broker.store, "X") == [b"0", b"1", b"2", b"3"]
    assert stored(broker.store, "Y") == [b"0", b"1"]
    await caller.client.close(grace=0.1)
    await broker.stop()


@pytest.mark.parametrize("mode", ["SYNC_FLUSH", "ASYNC_FLUSH"])
async def test_a_queue_whose_folder_is_a_file_refuses_its_own_messages(tmp_path: Path, mode: str) -> None:
    settings = make_settings(tmp_path / "store", flushDiskType=mode)
    broker = Broker(settings.current, settings.store, clock=FakeClock())
    await broker.start()
    caller = Caller(broker)
    folder = tmp_path / "store" / "consumequeue" / "X"
    folder.parent.mkdir(exist_ok=True)
    folder.write_bytes(b"in the way")
    assert (await caller.send("X", body=b"refused")).code == ResponseCode.SERVICE_NOT_AVAILABLE
    assert (await caller.send("Y", body=b"taken")).code == ResponseCode.SUCCESS
    folder.unlink()
    assert (await caller.send("X", body=b"late")).code == ResponseCode.SUCCESS
    assert bodies(await caller.pull("X")) == [b"late"]
    assert bodies(await caller.pull("Y")) == [b"taken"]
    await caller.client.close(grace=0.1)
    await broker.stop()
