"""Records and batches: round trips, and damage that is always seen."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.protocol.batches import encode_batch

from sprocketmq.errors import BodyError
from sprocketmq.protocol.arrow.columns import decode_columns
from sprocketmq.protocol.record import record as r
from sprocketmq.protocol.record.batch import decode_batch
from sprocketmq.protocol.record.record import Record, check_record, decode_record, decode_records, encode_record
from sprocketmq.protocol.record.sysflag import BORN_HOST_V6, STORE_HOST_V6

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
TOPICS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)


@st.composite
def records(draw: st.DrawFn) -> Record:
    sys_flag = draw(st.sampled_from([0, 0x2, 0x4, 0x8, 0xC])) | draw(st.sampled_from([0, 0x10, 0x20, 0x30]))
    hosts: list[Any] = [st.binary(min_size=size, max_size=size) for size in host_sizes(sys_flag)]
    return Record(
        topic=draw(TOPICS), body=draw(st.binary(max_size=100)), queue_id=draw(INT32), flag=draw(INT32),
        queue_offset=draw(INT64), commit_offset=draw(INT64), sys_flag=sys_flag, born_timestamp=draw(INT64),
        born_host=draw(hosts[0]), store_timestamp=draw(INT64), store_host=draw(hosts[1]),
        reconsume_times=draw(INT32), prepared_transaction_offset=draw(INT64),
        properties=draw(st.binary(max_size=100)),
    )  # fmt: skip


def host_sizes(sys_flag: int) -> tuple[int, int]:
    return 20 if sys_flag & BORN_HOST_V6 else 8, 20 if sys_flag & STORE_HOST_V6 else 8


@given(records())
def test_round_trip(record: Record) -> None:
    data = encode_record(record)
    found = decode_record(data)
    end = b"\2" if record.properties.endswith(b"\0") else b""  # or they would look as if they were cut short
    assert found.replace(size=0, body_crc=0) == record.replace(properties=record.properties + end)
    assert check_record(data, 0, len(data)) == (r.WHOLE, len(data))
    assert encode_record(found) == data


@given(records(), st.integers(0, 10_000), st.integers(1, 255))
def test_a_changed_byte_never_misleads(record: Record, place: int, change: int) -> None:
    """Whatever byte changes, the record is refused or has the same size: the next one is always found."""
    data = bytearray(encode_record(record))
    data[place % len(data)] ^= change
    kind, size = check_record(bytes(data), 0, len(data))
    if kind == r.WHOLE:
        assert size == len(data)
        with suppress(BodyError):  # its topic may be no UTF-8 any more
            decode_record(bytes(data))


@given(st.lists(records(), max_size=5))
def test_columns_agree_with_records(found: list[Record]) -> None:
    run = b"".join(map(encode_record, found))
    batch = decode_columns(run, columns=("topic", "queueId", "queueOffset", "body", "properties", "storeSize"))
    batch.validate(full=True)
    decoded = decode_records(run)
    assert [(row["topic"], row["queueId"], row["queueOffset"], row["body"]) for row in batch.to_pylist()] == [
        (record.topic, record.queue_id, record.queue_offset, record.body) for record in decoded
    ]


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_refused_cleanly(data: bytes) -> None:
    with suppress(BodyError):
        decode_records(data)
    with suppress(BodyError):
        decode_batch(data)


@given(st.lists(st.tuples(INT32, st.binary(max_size=50), st.binary(max_size=50)), max_size=5))
def test_batches_round_trip(messages: list[tuple[int, bytes, bytes]]) -> None:
    assert decode_batch(encode_batch(messages)) == messages
