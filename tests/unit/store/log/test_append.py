from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.store.support import HOST, START_MS, FakeClock, batch, bodies, open_store, properties, put, read_all

from sprocketmq.protocol.record.record import MAGIC_BLANK, decode_record
from sprocketmq.store.log.append import PutStatus


def test_a_record_holds_what_was_put(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    result = store.put("T", 3, 7, 0x100, b"hello", properties(TAGS="a"), 5, HOST, 2, 99)
    assert (result.status, result.commit_offset, result.queue_offset, result.count) == (PutStatus.PUT_OK, 0, 0, 1)
    record = store.reader.record_at(0)
    assert record is not None
    assert (record.topic, record.queue_id, record.flag, record.sys_flag) == ("T", 3, 7, 0x100)
    assert (record.body, record.born_timestamp, record.born_host) == (b"hello", 5, HOST)
    assert (record.reconsume_times, record.prepared_transaction_offset) == (2, 99)
    assert (record.store_timestamp, record.size) == (START_MS, result.size)
    store.close()


def test_ipv6_hosts_set_their_bits(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.put("T", 0, 0, 0, b"x", b"", 0, bytes(20), 0, 0)
    record = store.reader.record_at(0)
    assert record is not None
    assert record.sys_flag == 0x10
    assert record.born_host == bytes(20)
    store.close()


def test_a_record_that_does_not_fit_begins_the_next_file_behind_a_blank(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    size = put(store, body=bytes(1000)).size
    count = 1
    while (result := put(store, body=bytes(1000))).commit_offset < store.log.file_size:
        count += 1
    assert result.commit_offset == store.log.file_size
    end = count * size
    view = store.log.view_of(0)
    assert view is not None
    assert int.from_bytes(view[end : end + 4], "big") == store.log.file_size - end
    assert int.from_bytes(view[end + 4 : end + 8], "big", signed=True) == MAGIC_BLANK
    assert len(bodies(store)) == count + 1
    store.close()


def test_a_batch_is_never_split_over_files(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, body=bytes(12_000))
    result = store.put_batch("T", 0, 0, batch(*[(bytes(900), b"")] * 5), b"", START_MS, HOST, 0)
    assert result.commit_offset == store.log.file_size
    assert (result.count, result.queue_offset) == (5, 1)
    assert result.offsets is not None
    assert int.from_bytes(result.offsets[:8], "big") == store.log.file_size
    assert result.end_offset == store.log.max_offset
    store.close()


def test_a_batchs_messages_get_their_own_properties_then_the_batchs(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    two = batch((b"a", b"K\x011\x02"), (b"b", b"K\x012"))
    store.put_batch("T", 0, 0, two, b"W\x01true\x02", START_MS, HOST, 0)
    assert [(r.flag, r.properties) for r in read_all(store)] == [
        (9, b"K\x011\x02W\x01true\x02"),
        (9, b"K\x012\x02W\x01true\x02"),
    ]
    store.close()


@pytest.mark.parametrize(
    "damaged",
    [b"", b"short", batch((b"a", b""))[:-1], b"\x00\x00\x00\x05" + batch((b"a", b""))[4:], bytes(40)],
)
def test_a_batch_that_is_not_well_formed_is_refused_whole(tmp_path: Path, damaged: bytes) -> None:
    store = open_store(tmp_path)
    result = store.put_batch("T", 0, 0, damaged, b"", START_MS, HOST, 0)
    assert result.status == PutStatus.MESSAGE_ILLEGAL
    assert store.log.max_offset == 0
    store.close()


def test_what_is_too_large_is_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path, max_message_size=1000)
    assert put(store, body=bytes(1001)).status == PutStatus.MESSAGE_ILLEGAL
    assert put(store, body=bytes(1000)).ok
    long = "x" * 32_768
    assert put(store, P=long).status == PutStatus.PROPERTIES_SIZE_EXCEEDED
    assert put(store, topic="t" * 128).status == PutStatus.MESSAGE_ILLEGAL
    assert put(store, topic="../up").status == PutStatus.MESSAGE_ILLEGAL
    assert put(store, topic="%RETRY%" + "g" * 200).ok
    assert store.appender.failed_times == 4
    store.close()


def test_a_record_larger_than_a_file_is_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    assert put(store, body=bytes(16 << 10)).status == PutStatus.MESSAGE_ILLEGAL
    store.close()


def test_the_store_time_never_goes_back(tmp_path: Path) -> None:
    clock = FakeClock()
    store = open_store(tmp_path, clock)
    put(store)
    clock.now -= 60_000
    assert put(store).store_timestamp == START_MS
    store.close()


def test_the_property_crc_covers_the_whole_record(tmp_path: Path) -> None:
    store = open_store(tmp_path, enabled_append_prop_crc=True)
    put(store, TAGS="a")
    view = store.reader.bytes_at(0)
    assert view is not None
    assert decode_record(view).properties[-20:-11] == b"__CRC32#\x01"
    store.close()


def test_a_closed_store_takes_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.close()
    assert put(store).status == PutStatus.SERVICE_NOT_AVAILABLE
    store.close()
