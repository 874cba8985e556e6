from __future__ import annotations

import hashlib
import mmap
from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.protocol import golden

from sprocketmq.errors import BodyError
from sprocketmq.protocol.record import record as r
from sprocketmq.protocol.record.crc import body_crc
from sprocketmq.protocol.record.hosts import host_text
from sprocketmq.protocol.record.properties import decode_properties
from sprocketmq.protocol.record.record import (
    Record,
    check_record,
    decode_record,
    decode_records,
    encode_record,
    store_size,
    write_record,
)
from sprocketmq.protocol.record.sysflag import COMPRESSED, STORE_HOST_V6

STORED = [entry for entry in golden.cases("messages") if entry["kind"] != "batchBody"]
FILES = [entry["file"] for entry in STORED]
#: Here the golden encoder kept the CRC of the plain body, or was told a wrong one.
FOREIGN_CRC = {
    "bad-crc.bin",
    "compressed-legacy.bin",
    "compressed-lz4.bin",
    "compressed-zlib.bin",
    "compressed-zstd.bin",
}

SAMPLE = Record(
    topic="orders", body=b"hello", queue_id=3, flag=-1, queue_offset=1 << 40, commit_offset=1 << 50, sys_flag=0,
    born_timestamp=1700000000000, born_host=bytes.fromhex("c0a801140000c3cb"), store_timestamp=1700000000001,
    store_host=bytes.fromhex("7f00000100002a9f"), reconsume_times=2, prepared_transaction_offset=7,
    properties=b"TAGS\x01new\x02",
)  # fmt: skip


def write(buffer: Any, at: int, record: Record, *, property_crc: bool = False) -> int:
    return write_record(
        buffer, at, record.topic.encode(), record.body, record.properties, record.queue_id, record.flag,
        record.queue_offset, record.commit_offset, record.sys_flag, record.born_timestamp, record.born_host,
        record.store_timestamp, record.store_host, record.reconsume_times, record.prepared_transaction_offset,
        property_crc,
    )  # fmt: skip


@pytest.mark.parametrize("entry", STORED, ids=FILES)
def test_golden_records_decode(entry: dict[str, Any]) -> None:
    data, at = golden.content("messages", entry), 0
    for message in entry["messages"]:
        if message is None:
            with pytest.raises(BodyError):
                decode_record(data, at)
            return
        record = decode_record(data, at, check_crc=False)
        assert (record.topic, record.queue_id, record.queue_offset, record.commit_offset, record.size) == (
            message["topic"], message["queueId"], message["queueOffset"], message["physicalOffset"], message["size"],
        )  # fmt: skip
        assert (record.flag, record.body_crc, record.born_timestamp, record.store_timestamp) == (
            message["flag"], message["bodyCRC"], message["bornTimestamp"], message["storeTimestamp"],
        )  # fmt: skip
        assert (host_text(record.born_host), host_text(record.store_host)) == (
            message["bornHost"], message["storeHost"],
        )  # fmt: skip
        assert (record.reconsume_times, record.prepared_transaction_offset) == (
            message["reconsumeTimes"], message["preparedTransactionOffset"],
        )  # fmt: skip
        assert record.sys_flag & ~COMPRESSED == message["sysFlag"]
        assert decode_properties(record.properties) == message["properties"]
        assert len(record.body) == message["storedBodyLength"]
        assert hashlib.md5(record.body).hexdigest() == message["storedBodyMd5"]
        at += record.size
    if "blankAt" in entry:
        assert at == entry["blankAt"]
        assert check_record(data, at, len(data)) == (r.BLANK, entry["blankSize"])
    else:
        assert at == len(data)


@pytest.mark.parametrize("entry", STORED, ids=FILES)
def test_golden_records_encode_to_the_same(entry: dict[str, Any]) -> None:
    data, at = golden.content("messages", entry), 0
    for message in entry["messages"]:
        if message is None:
            return
        record = decode_record(data, at, check_crc=False)
        expected = bytearray(data[at : at + record.size])
        if entry["file"] in FOREIGN_CRC:
            expected[8:12] = body_crc(record.body).to_bytes(4, "big")
        else:
            assert check_record(data, at, len(data)) == (r.WHOLE, record.size)
        assert encode_record(record) == expected
        at += record.size


@pytest.mark.parametrize("case", golden.hashes()["bodyCrc"]["cases"], ids=lambda case: case["hex"][:16])
def test_golden_crc(case: dict[str, Any]) -> None:
    assert body_crc(bytes.fromhex(case["hex"])) == case["bodyCRC"]


def test_a_record_may_be_read_from_any_buffer() -> None:
    data = encode_record(SAMPLE)
    pages = mmap.mmap(-1, 4096)
    pages[100 : 100 + len(data)] = data
    wanted = SAMPLE.replace(size=len(data), body_crc=body_crc(b"hello"))
    assert decode_record(data) == wanted
    assert decode_record(bytearray(data)) == wanted
    assert decode_record(memoryview(b"xx" + data)[2:]) == wanted
    assert decode_record(pages, 100) == wanted
    assert decode_records(data + data) == [wanted, wanted]
    pages.close()


@pytest.mark.parametrize("room", [lambda: bytearray(4096), lambda: mmap.mmap(-1, 4096)], ids=["bytearray", "mmap"])
def test_a_record_is_written_in_place(room: Callable[[], Any]) -> None:
    buffer, expected = room(), encode_record(SAMPLE)
    assert write(buffer, 100, SAMPLE) == len(expected) == store_size(5, 6, 9)
    assert buffer[100 : 100 + len(expected)] == expected
    assert bytes(buffer[:100]) == bytes(100)
    assert bytes(buffer[100 + len(expected) :]) == bytes(4096 - 100 - len(expected))


def test_a_record_without_room_is_refused_and_nothing_written() -> None:
    size = len(encode_record(SAMPLE))
    for at in (-1, 1, 5000):
        buffer = bytearray(size)
        with pytest.raises(ValueError, match="no room"):
            write(buffer, at, SAMPLE)
        assert buffer == bytes(size)


@pytest.mark.parametrize(
    "changes",
    [{"topic": ""}, {"properties": bytes(32768)}, {"born_host": bytes(20)}, {"sys_flag": STORE_HOST_V6}],
    ids=lambda changes: next(iter(changes)),
)
def test_parts_that_do_not_fit_the_format_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"topic|properties|host"):
        encode_record(SAMPLE.replace(**changes))


def test_a_topic_over_127_bytes_takes_the_second_layout() -> None:
    short, long = (encode_record(SAMPLE.replace(topic="t" * length)) for length in (127, 128))
    assert (short[4:8].hex(), long[4:8].hex()) == ("daa320a7", "daa320ab")
    assert len(long) == len(short) + 2
    assert decode_record(long).topic == "t" * 128


def test_a_record_cut_anywhere_is_not_whole() -> None:
    data = encode_record(SAMPLE)
    for end in range(len(data)):
        kind, _ = check_record(data[:end], 0, end)
        assert kind > r.BLANK, end
        padded = data[:end] + bytes(len(data) - end)
        if padded != data and end < len(data) - len(SAMPLE.properties):
            assert check_record(padded, 0, len(padded))[0] > r.BLANK, end


def damaged(at: int, octets: str) -> bytes:
    data = bytearray(encode_record(SAMPLE))
    data[at : at + len(octets) // 2] = bytes.fromhex(octets)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", r.CUT_OFF),
        (bytes(7), r.CUT_OFF),
        (bytes(200), r.NO_MAGIC),
        (damaged(4, "daa320a8"), r.NO_MAGIC),
        (damaged(0, "0000005a"), r.WRONG_SIZE),
        (damaged(0, "7fffffff"), r.WRONG_SIZE),
        (damaged(0, "ffffffff"), r.WRONG_SIZE),
        (damaged(36, "00000010"), r.WRONG_PARTS),
        (damaged(36, "00000030"), r.WRONG_PARTS),
        (damaged(84, "ffffffff"), r.WRONG_PARTS),
        (damaged(84, "7fffffff"), r.WRONG_PARTS),
        (damaged(84, "00000004"), r.WRONG_PARTS),
        (damaged(93, "00"), r.WRONG_PARTS),
        (damaged(93, "ff"), r.WRONG_PARTS),
        (damaged(100, "0008"), r.WRONG_PARTS),
        (damaged(100, "ffff"), r.WRONG_PARTS),
        (damaged(4, "daa320ab"), r.WRONG_PARTS),
        (damaged(88, "00"), r.WRONG_CRC),
        (bytes.fromhex("00000007 cbd43194"), r.WRONG_SIZE),
        (bytes.fromhex("00000009 cbd43194"), r.WRONG_SIZE),
        (bytes.fromhex("00000008 cbd43194"), r.BLANK),
    ],
)  # fmt: skip
def test_each_damage_is_named(data: bytes, kind: int) -> None:
    assert check_record(data, 0, len(data))[0] == kind
    with pytest.raises(BodyError, match="record at 0: "):
        decode_record(data)


def test_a_wrong_crc_may_be_overlooked_on_purpose() -> None:
    data = damaged(88, "00")
    assert check_record(data, 0, len(data), check_crc=False) == (r.WHOLE, len(data))
    assert decode_record(data, check_crc=False).body == b"\0ello"
    assert decode_records(data, check_crc=False)[0].body == b"\0ello"


def test_a_topic_that_is_no_utf8_is_an_error() -> None:
    with pytest.raises(BodyError, match="topic"):
        decode_record(damaged(94, "ff"))


def test_bounds_outside_the_buffer_are_cut_off() -> None:
    data = encode_record(SAMPLE)
    for at, end in ((-1, 10), (0, len(data) + 1), (5, 5), (9, 3)):
        assert check_record(data, at, end) == (r.CUT_OFF, 0)
    for at in (-1, len(data), 10_000):
        with pytest.raises(BodyError):
            decode_record(data, at)
    assert decode_records(b"") == []


def test_the_property_crc_guards_every_byte() -> None:
    buffer = bytearray(1024)
    size = write(buffer, 0, SAMPLE, property_crc=True)
    assert size == len(encode_record(SAMPLE)) + r.PROPERTY_CRC_BYTES
    assert check_record(buffer, 0, size) == (r.WHOLE, size)
    record = decode_record(buffer)
    digits = decode_properties(record.properties)["__CRC32#"]
    assert int(digits[::-1]) == body_crc(bytes(buffer[: size - r.PROPERTY_CRC_BYTES]))
    for at in range(12, size):
        buffer[at] ^= 0x01
        assert check_record(buffer, 0, size)[0] != r.WHOLE or at in range(size - 20, size - 11), at
        buffer[at] ^= 0x01


def test_the_property_crc_closes_the_last_property() -> None:
    buffer = bytearray(1024)
    size = write(buffer, 0, SAMPLE.replace(properties=b"a\x01b"), property_crc=True)
    assert check_record(buffer, 0, size) == (r.WHOLE, size)
    assert list(decode_properties(decode_record(buffer).properties)) == ["a", "__CRC32#"]


def test_records_are_values() -> None:
    twin = SAMPLE.replace()
    assert twin == SAMPLE
    assert hash(twin) == hash(SAMPLE)
    assert twin != SAMPLE.replace(queue_id=4)
    assert SAMPLE != "a record"
    assert "topic='orders'" in repr(SAMPLE)
