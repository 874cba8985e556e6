from __future__ import annotations

import mmap
import subprocess
import sys
import zlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from tests.unit.protocol import golden

from sprocketmq.errors import BodyError
from sprocketmq.protocol.arrow import columns, numbers
from sprocketmq.protocol.arrow.columns import COLUMNS, batch_of, decode_columns, schema
from sprocketmq.protocol.arrow.rows import Wanted, rows_of_entries
from sprocketmq.protocol.record.compression import decompress
from sprocketmq.protocol.record.hashing import tags_code
from sprocketmq.protocol.record.record import Record, decode_record, encode_record
from sprocketmq.protocol.record.sysflag import COMPRESSED, compression_type

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def golden_run() -> tuple[bytes, list[dict[str, Any]]]:
    """Every golden record, back to back."""
    run, messages = b"", []
    for entry in golden.cases("messages"):
        if entry["kind"] != "batchBody" and None not in entry["messages"]:
            messages += entry["messages"]
            run += golden.content("messages", entry)[: sum(message["size"] for message in entry["messages"])]
    return run, messages


RUN, MESSAGES = golden_run()


def record(**fields: Any) -> bytes:
    return encode_record(Record(**{"topic": "t", "body": b"b", **fields}))


def time_of(milliseconds: int) -> datetime:
    return EPOCH + timedelta(milliseconds=milliseconds)


def expected(message: dict[str, Any], at: int) -> dict[str, Any]:
    stored = decode_record(RUN, at, check_crc=False)
    kind = compression_type(stored.sys_flag)
    same = ("topic", "queueId", "queueOffset", "bornHost", "storeHost", "tags", "keys", "uniqKey", "msgId", "flag")
    return {name: message[name] for name in (*same, "reconsumeTimes", "preparedTransactionOffset")} | {
        "commitLogOffset": message["physicalOffset"],
        "bornTimestamp": time_of(message["bornTimestamp"]),
        "storeTimestamp": time_of(message["storeTimestamp"]),
        "properties": message["properties"],
        "body": stored.body if kind is None else decompress(stored.body, kind),
        "sysFlag": stored.sys_flag,
        "storeSize": message["size"],
    }


def rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    batch.validate(full=True)
    found = batch.to_pylist()
    for row in found:
        if "properties" in row:
            assert len(dict(row["properties"])) == len(row["properties"])
            row["properties"] = dict(row["properties"])
    return found


def test_golden_records_as_columns() -> None:
    at, wanted = 0, []
    for message in MESSAGES:
        wanted.append(expected(message, at))
        at += message["size"]
    assert rows(decode_columns(RUN)) == wanted


def test_the_schema_names_every_column_in_order() -> None:
    batch = decode_columns(RUN)
    assert tuple(batch.schema.names) == COLUMNS
    assert batch.schema == schema()
    assert batch.schema.field("bornTimestamp").type == pa.timestamp("us", "UTC")
    assert batch.schema.field("properties").type == pa.map_(pa.string(), pa.string())


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_alone_is_the_same(name: str) -> None:
    assert decode_columns(RUN, columns=(name,)).column(0).equals(decode_columns(RUN).column(name))


def test_columns_come_in_the_order_asked() -> None:
    assert decode_columns(RUN, columns=("tags", "body", "topic")).schema.names == ["tags", "body", "topic"]
    with pytest.raises(ValueError, match="no such column: nonsense"):
        decode_columns(RUN, columns=("tags", "nonsense"))


def test_nothing_gives_an_empty_batch() -> None:
    assert rows(decode_columns(b"")) == []
    assert decode_columns(b"").schema == schema()


def test_any_buffer_and_any_part_of_it() -> None:
    one, two = record(queue_id=1), record(queue_id=2)
    pages = mmap.mmap(-1, 4096)
    pages[100 : 100 + len(one + two)] = one + two
    ids = decode_columns(pages, 100, 100 + len(one + two), columns=("queueId",)).column(0)
    assert ids.to_pylist() == [1, 2]
    assert decode_columns(memoryview(one + two), len(one), columns=("queueId",)).column(0).to_pylist() == [2]
    with pytest.raises(ValueError, match="outside"):
        decode_columns(one, 0, len(one) + 1)
    pages.close()


def test_a_blank_record_ends_the_run() -> None:
    blank = (20).to_bytes(4, "big") + bytes.fromhex("cbd43194") + bytes(12)
    assert decode_columns(record() + blank).num_rows == 1


def test_damage_is_named_by_its_offset() -> None:
    one = record()
    for tail in (bytes(100), one[:-1], b"\x00"):
        with pytest.raises(BodyError, match=f"record at {len(one)}: "):
            decode_columns(one + tail)
    broken = bytearray(record(body=b"abc"))
    broken[88] ^= 1
    assert decode_columns(bytes(broken)).num_rows == 1
    with pytest.raises(BodyError, match="CRC"):
        decode_columns(bytes(broken), check_crc=True)
    with pytest.raises(BodyError, match="UTF-8"):
        decode_columns(record(topic="ttt").replace(b"ttt", b"t\xfft"))


def test_filters() -> None:
    run = b"".join(
        record(topic=topic, queue_id=queue, properties=b"TAGS\x01" + tag)
        for topic in ("a", "ab", "b")
        for queue in (0, 1)
        for tag in (b"x", b"y")
    )
    names = ("topic", "queueId", "tags")
    assert decode_columns(run, columns=names, topics={"a", "b"}).num_rows == 8
    assert decode_columns(run, columns=names, topics=[]).num_rows == 0
    assert decode_columns(run, columns=names, queue_id=1).num_rows == 6
    found = decode_columns(run, columns=names, topics={"ab"}, queue_id=0, tags_codes={tags_code("y")})
    assert rows(found) == [{"topic": "ab", "queueId": 0, "tags": "y"}]


def test_entries_pick_records_in_their_order() -> None:
    one, two = record(queue_id=1), record(queue_id=2, body=b"longer")
    entries = [(len(one), len(two)), (0, len(one))]
    found = rows_of_entries(one + two, entries, Wanted())
    assert batch_of(one + two, found, ("queueId",)).column(0).to_pylist() == [2, 1]
    for wrong in ((0, len(one) - 1), (0, 0), (-1, 5), (1, len(one)), (0, 10_000)):
        with pytest.raises(BodyError, match="record at"):
            rows_of_entries(one + two, [wrong], Wanted())


def test_of_two_properties_with_one_name_the_later_wins() -> None:
    batch = decode_columns(record(properties=b"UNIQ_KEY\x01child\x02a\x01b\x02UNIQ_KEY\x01batch\x02"))
    assert batch.column("properties").to_pylist() == [[("UNIQ_KEY", "batch"), ("a", "b")]]
    assert batch.column("uniqKey").to_pylist() == ["batch"]


def test_many_properties() -> None:
    many = b"".join(b"n%d\x01v%d\x02" % (number % 150, number) for number in range(300))
    (found,) = rows(decode_columns(record(properties=many)))
    assert found["properties"] == {f"n{number}": f"v{number + 150}" for number in range(150)}


def test_the_smallest_properties_fit() -> None:
    text = b"".join(b"%c\x01v\x02" % name for name in range(48, 58)) + b"x\x01y"
    assert len(rows(decode_columns(record(properties=text) * 3))[2]["properties"]) == 11
    assert rows(decode_columns(record(properties=b"\x02\x02x\x01\x02\x01y\x02zz")))[0]["properties"] == {}


def test_broken_utf8_in_properties_is_repaired() -> None:
    batch = decode_columns(
        record(properties="ключ\x01значение\x02".encode()) + record(properties=b"TAGS\x01\xff\xfe\x02")
    )
    assert rows(batch)[0]["properties"] == {"ключ": "значение"}
    assert rows(batch)[1]["properties"] == {"TAGS": "\ufffd\ufffd"}
    assert batch.column("tags").to_pylist() == [None, "\ufffd\ufffd"]


def test_bodies_may_stay_compressed() -> None:
    batch = decode_columns(RUN, columns=("body",), plain_bodies=False)
    lengths = [len(row["body"]) for row in batch.to_pylist()]
    assert lengths == [message["storedBodyLength"] for message in MESSAGES]


def test_a_body_has_a_bound() -> None:
    with pytest.raises(BodyError, match="more than 1000"):
        decode_columns(RUN, columns=("body",), body_limit=1000)


def test_and_so_have_the_bodies_of_a_batch_before_all_are_inflated(monkeypatch: pytest.MonkeyPatch) -> None:
    one = record(body=zlib.compress(bytes(1000)), sys_flag=COMPRESSED)
    inflated: list[bytes] = []

    def note(*arguments: Any) -> bytes:
        inflated.append(decompress(*arguments))
        return inflated[-1]

    monkeypatch.setattr(columns, "decompress", note)
    monkeypatch.setattr(numbers, "MAX_COLUMN_BYTES", 3000)
    with pytest.raises(ValueError, match="take a shorter run"):
        decode_columns(one * 100, columns=("body",))
    assert len(inflated) == 4


def test_times_beyond_the_range_stay_at_its_end() -> None:
    batch = decode_columns(
        record(born_timestamp=2**63 - 1) + record(born_timestamp=-(2**63)), columns=("bornTimestamp",)
    )
    values = batch.column(0).cast(pa.int64()).to_pylist()
    assert values == [9223372036854775000, -9223372036854775000]


def test_hosts_of_both_kinds() -> None:
    v6 = record(sys_flag=0x30, born_host=b"\xff" * 16 + b"\x7f\xff\xff\xff", store_host=bytes(20))
    (found,) = rows(decode_columns(v6, columns=("bornHost", "storeHost", "msgId")))
    assert found["bornHost"] == "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:2147483647"
    assert found["storeHost"] == "[0:0:0:0:0:0:0:0]:0"
    assert found["msgId"] == "0" * 56
    (negative,) = rows(decode_columns(record(born_host=b"\xff" * 4 + b"\x80\0\0\0"), columns=("bornHost",)))
    assert negative["bornHost"] == "255.255.255.255:-2147483648"


def test_the_module_needs_pyarrow_only_to_make_a_batch() -> None:
    code = "import sys; sys.modules['pyarrow'] = None; import sprocketmq.protocol.arrow.columns"
    subprocess.run([sys.executable, "-c", code], check=True)
