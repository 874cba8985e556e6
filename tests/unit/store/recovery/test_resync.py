from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.store.support import HOST

from sprocketmq.protocol.record.record import Record, encode_record
from sprocketmq.store.files.disk import Disk
from sprocketmq.store.recovery.resync import FoundRecord, record_at, records_behind, topic_and_place

BASE = 1 << 20


def record(at: int, body: bytes = b"body", topic: str = "T") -> bytes:
    return encode_record(
        Record(
            topic=topic, body=body, queue_id=3, queue_offset=7, commit_offset=BASE + at, sys_flag=0, born_timestamp=1,
            born_host=HOST, store_timestamp=42, store_host=HOST, properties=b"",
        )
    )  # fmt: skip


Scan = Callable[[bytes, int], list[FoundRecord]]


@pytest.fixture
def scan(tmp_path: Path) -> Scan:
    def records(data: bytes, start: int) -> list[FoundRecord]:
        (tmp_path / "log").write_bytes(data)
        file = Disk().open(tmp_path / "log")
        try:
            return list(records_behind(file, file.map(), BASE, start))
        finally:
            file.close()

    return records


def test_records_are_found_at_any_byte_behind_garbage(scan: Scan) -> None:
    for garbage in (1, 7, 4095, 4096, 4097):
        first = record(garbage)
        second = record(garbage + len(first), b"second")
        data = b"\xda" * garbage + first + second + bytes(5000)
        assert scan(data, 0) == [
            FoundRecord(BASE + garbage, len(first)),
            FoundRecord(BASE + garbage + len(first), len(second)),
        ]


def test_a_record_must_say_that_it_belongs_where_it_is(scan: Scan) -> None:
    assert scan(record(100), 0) == []
    assert record_at(memoryview(record(0)), BASE, 0) == FoundRecord(BASE, len(record(0)))
    assert record_at(memoryview(record(0)), BASE + 1, 0) is None


def test_a_flipped_body_or_an_illegal_topic_is_no_record(scan: Scan) -> None:
    broken = bytearray(record(0))
    broken[88] ^= 1
    behind = record(len(broken))
    assert scan(bytes(broken) + behind, 0) == [FoundRecord(BASE + len(broken), len(behind))]
    assert scan(record(0, topic="../etc"), 0) == []


def test_records_before_the_start_are_not_told(scan: Scan) -> None:
    first = record(0)
    second = record(len(first))
    assert scan(first + second, 1) == [FoundRecord(BASE + len(first), len(second))]
    assert scan(first + second, len(first) + 1) == []


def test_a_record_across_a_chunk_is_found(scan: Scan) -> None:
    at = (4 << 20) - 6  # its magic lies on both sides of the border
    assert scan(b"\x01" * at + record(at), 0) == [FoundRecord(BASE + at, len(record(at)))]


def test_topic_and_place() -> None:
    assert topic_and_place(memoryview(record(0)), 0) == ("T", 3, 7, 0, 42)
