"""A broker that is killed while it writes leaves no record that looks whole, and no part of a batch."""

from __future__ import annotations

import errno
import mmap
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fault.crash.killed import PAGE, dies, seal_page
from tests.fault.disk import SimDisk, SimFile, keep_everything
from tests.fault.ledger import TickingClock, small_config
from tests.fault.ledger import open_store as open_on
from tests.fault.source import places_in, view_of
from tests.unit.store.support import HOST, START_MS, batch, bodies, open_store, properties, put, read_all

from sprocketmq.protocol.record.record import WHOLE, check_record, decode_record, write_record
from sprocketmq.store.config import FlushDiskType
from sprocketmq.store.store import MessageStore

PROPERTIES = b"KEYS\x01order-1\x02TAGS\x01TagA\x02"
#: What one record of these tests has besides its body.
BARE = 91 + 1 + len(PROPERTIES)


def write(buffer: mmap.mmap, at: int, property_crc: bool) -> int:
    return write_record(
        buffer, at, b"T", b"body", PROPERTIES, 1, 2, 3, at, 0, 4, HOST, 5, HOST, property_crc=property_crc
    )


@pytest.mark.parametrize("property_crc", [False, True])
def test_a_record_that_was_cut_short_at_any_byte_has_no_head(property_crc: bool) -> None:
    memory = mmap.mmap(-1, 2 * PAGE, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
    size = write(memory, 0, property_crc)
    assert check_record(memory, 0, size) == (WHOLE, size)
    for written in range(1, size):
        memory[:] = bytes(len(memory))
        at = PAGE - written

        def act(at: int = at) -> None:
            seal_page(memoryview(memory), 1)
            write(memory, at, property_crc)

        assert dies(act)
        assert memory[at : at + 8] == bytes(8), written


def put_one(store: MessageStore) -> None:
    store.put("T", 0, 0, 0, b"body", PROPERTIES, START_MS, HOST, 0, 0)


def put_three(store: MessageStore) -> None:
    store.put_batch("T", 0, 0, batch(*[(b"body", PROPERTIES)] * 3), b"", START_MS, HOST, 0)


@pytest.mark.parametrize(("puts", "size"), [(put_one, BARE + 4), (put_three, 3 * (BARE + 4))])
def test_a_put_that_was_killed_leaves_nothing(puts: Callable[[MessageStore], None], size: int, tmp_path: Path) -> None:
    for written in range(1, size, 23):
        root = tmp_path / str(written)

        def act(root: Path = root, written: int = written) -> None:
            store = open_store(root)
            put(store, body=bytes(PAGE - written - 92))
            view = store.log.view_of(0)
            assert view is not None
            assert store.log.max_offset == PAGE - written
            seal_page(view, 1)
            puts(store)

        assert dies(act)
        store = open_store(root)
        assert bodies(store) == [bytes(PAGE - written - 92)], written
        assert not store.report.quarantined
        assert not store.report.damaged
        store.close()


def test_a_commit_that_was_killed_leaves_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a transient buffer the records come to the file by one write, of which a kill leaves any first part."""
    config = small_config(transient_store_pool_enable=True, flush_disk_type=FlushDiskType.ASYNC_FLUSH)
    whole_write = SimFile.write
    for written in range(0, 450, 31):
        disk = SimDisk()
        store = open_on(disk, config, TickingClock())
        put(store, body=b"kept")
        store.flusher.commit()
        store.put_batch("T", 0, 0, batch(*[(b"body", PROPERTIES)] * 3), b"", START_MS, HOST, 0)

        def torn(file: SimFile, at: int, data: memoryview, written: int = written) -> None:
            whole_write(file, at, data[:written])
            raise OSError(errno.EINTR, "killed")

        monkeypatch.setattr(SimFile, "write", torn)
        store.flusher.commit()
        monkeypatch.setattr(SimFile, "write", whole_write)
        store.abandon()
        after = disk.power_cut(keep_everything)
        shown = places_in(view_of(after))
        again = open_on(after, config, TickingClock())
        assert bodies(again) == [b"kept"], written
        assert set(shown.values()) == {b"kept"}, written
        again.abandon()


@pytest.mark.parametrize("own", [b"a\x01b\0", b"a\x01\0\0", b"\0"])
def test_a_value_that_ends_in_nul_outlives_a_crash(own: bytes, tmp_path: Path) -> None:
    """Only zeros that nobody wrote make a record torn."""
    store = open_store(tmp_path)
    store.put("T", 0, 0, 0, b"one", own, START_MS, HOST, 0, 0)
    store.put_batch("T", 0, 0, batch((b"two", own)), b"", START_MS, HOST, 0)
    store.put_batch("T", 0, 0, batch((b"three", b"")), own, START_MS, HOST, 0)
    put(store, body=b"four")
    store.abandon()
    again = open_store(tmp_path)
    assert bodies(again) == [b"one", b"two", b"three", b"four"]
    assert [record.properties for record in read_all(again)] == [own + b"\x02"] * 3 + [properties()]
    again.close()


def test_zeros_at_the_end_of_properties_were_never_written() -> None:
    memory = bytearray(200)
    size = write_record(memory, 0, b"T", b"body", PROPERTIES, 1, 2, 3, 0, 0, 4, HOST, 5, HOST)
    whole = bytes(memory)
    for cut in range(1, len(PROPERTIES) + 1):
        memory[size - cut : size] = bytes(cut)
        assert check_record(memory, 0, size)[0] != WHOLE
    assert decode_record(whole[:size]).properties == PROPERTIES
