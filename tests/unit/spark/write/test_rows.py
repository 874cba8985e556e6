"""Entries made from Arrow buffers say what the rows say, whatever the types, slices and nulls."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.record.batch import decode_batch
from sprocketmq.protocol.record.hashing import string_hash
from sprocketmq.protocol.record.properties import SYSTEM_PROPERTIES
from sprocketmq.spark.write.batches import QueueBatch, TopicBatches
from sprocketmq.spark.write.columns import columns_of
from sprocketmq.spark.write.rows import BadRow, EntryFill
from sprocketmq.spark.write.unique_keys import unique_key

SEAL = "0123456789ABCDEF"
QUEUES = [MessageQueue("T", "b", number) for number in range(3)]
BODY_TYPES = [pa.binary(), pa.large_binary(), pa.string(), pa.large_string()]
Row = dict[str, Any]

_TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x01\x02"), max_size=20)
_NAMES = st.one_of(_TEXTS, st.sampled_from(sorted(SYSTEM_PROPERTIES)), st.just("Color"))
_ROWS = st.fixed_dictionaries(
    {
        "body": st.text(min_size=1, max_size=40),
        "tags": st.none() | _TEXTS,
        "keys": st.none() | st.lists(st.none() | _TEXTS, max_size=4),
        "properties": st.none() | st.lists(st.tuples(_NAMES, st.none() | _TEXTS), max_size=4),
        "shardingKey": st.none() | _TEXTS,
        "queueId": st.none() | st.integers(0, 2),
        "flag": st.none() | st.integers(-(1 << 31), (1 << 31) - 1),
    }
)
_COLUMNS = st.sets(st.sampled_from(["tags", "keys", "properties", "shardingKey", "queueId", "flag"]))


def table(rows: list[Row], names: set[str], text: Any = None, body: Any = None, number: Any = None) -> pa.RecordBatch:
    text, number = text or pa.string(), number or pa.int32()
    lists = pa.large_list(text) if text == pa.large_string() else pa.list_(text)
    types = {
        "body": body or pa.binary(), "tags": text, "keys": lists, "properties": pa.map_(text, text),
        "shardingKey": text, "queueId": number, "flag": number, "delayLevel": number, "topic": text,
    }  # fmt: skip
    wanted = {name: kind for name, kind in types.items() if name in names | {"body"}}
    columns = [pa.array([_cell(row[name], kind) for row in rows], kind) for name, kind in wanted.items()]
    return pa.RecordBatch.from_arrays(columns, list(wanted))


def _cell(value: Any, kind: Any) -> Any:
    is_binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    return value.encode() if is_binary and value is not None else value


def properties_of(row: Row, number: int, names: set[str], extra: str = "") -> bytes:
    """What travels with a row, told plainly."""
    parts = [f"UNIQ_KEY\x01{unique_key(SEAL, number)}\x02{extra}"]
    keys = row["keys"] if isinstance(row.get("keys"), str) else " ".join(filter(None, row.get("keys") or []))
    for column, name, value in (
        ("tags", "TAGS", row.get("tags")), ("keys", "KEYS", keys),
        ("shardingKey", "__SHARDINGKEY", row.get("shardingKey")), ("delayLevel", "DELAY", row.get("delayLevel")),
    ):  # fmt: skip
        if column in names and value:
            parts.append(f"{name}\x01{value}\x02")
    for name, value in (row.get("properties") or []) if "properties" in names else []:
        if name and value and name not in SYSTEM_PROPERTIES:
            parts.append(f"{name}\x01{value}\x02")
    return "".join(parts).encode()


def batch_of(row: Row, names: set[str]) -> int | None:
    if "queueId" in names and row["queueId"] is not None:
        return int(row["queueId"])
    if "shardingKey" in names and row["shardingKey"]:
        return abs(string_hash(row["shardingKey"])) % len(QUEUES)
    return None


def opened(batch: pa.RecordBatch, first_row: int = 0, batch_bytes: int = 1 << 20, batch_rows: int = 4096) -> EntryFill:
    fill = EntryFill(SEAL, "", batch_bytes, batch_rows)
    fill.open(columns_of(batch), first_row)
    return fill


@given(
    st.lists(_ROWS, min_size=1, max_size=6), _COLUMNS, st.sampled_from(BODY_TYPES),
    st.sampled_from([pa.string(), pa.large_string()]), st.sampled_from([pa.int32(), pa.int64()]),
    st.integers(0, 5), st.sampled_from([0, 65_530, (1 << 32) - 6]),
)  # fmt: skip
def test_entries_say_what_the_rows_say(
    rows: list[Row], names: set[str], body: Any, text: Any, number: Any, begin: int, first_row: int
) -> None:
    batch = table(rows, names, text, body, number).slice(begin)
    rows = rows[begin:]
    batches = TopicBatches("T", QUEUES)
    opened(batch, first_row).fill(batches, 0, len(rows), Taken())
    expected: dict[int | None, list[tuple[int, bytes, bytes]]] = {}
    for index, row in enumerate(rows):
        flag = (row["flag"] or 0) if "flag" in names else 0
        entry = flag, row["body"].encode(), properties_of(row, first_row + index, names)
        expected.setdefault(batch_of(row, names), []).append(entry)
    assert {_number(one): decode_batch(one.take()) for one in batches.held()} == expected


class Taken:
    """What was sent: the content of batches, and rows by themselves."""

    def __init__(self) -> None:
        self.batches: list[bytes] = []
        self.rows: list[tuple[int, bytes, bytes]] = []

    def send_batch(self, batch: QueueBatch) -> None:
        self.batches.append(batch.take())

    def send_delayed(self, rows: EntryFill, row: int, batch: QueueBatch) -> None:
        assert not batch.rows, "those before it went first"
        self.rows.append(rows.alone(row))

    def bodies(self) -> list[list[bytes]]:
        return [[body for _, body, _ in decode_batch(batch)] for batch in self.batches]


def _number(batch: QueueBatch) -> int | None:
    return None if batch.queue is None else batch.queue.queue_id


@pytest.mark.parametrize(("body", "keys"), [("body", "keys"), ("value", "key")])
def test_keys_may_be_a_text(body: str, keys: str) -> None:
    """Also under the names of Kafka's sink."""
    batch = pa.RecordBatch.from_pydict({body: ["b"], keys: ["one two"]})
    assert opened(batch).alone(0) == (0, b"b", properties_of({"keys": "one two"}, 0, {"keys"}))


def test_what_is_not_text_is_written_as_arrow_writes_it() -> None:
    kind = pa.map_(pa.string(), pa.int32())
    batch = pa.RecordBatch.from_arrays(
        [pa.array(["b"]), pa.array([[("zero", 0), ("n", None)]], kind)], ["body", "properties"]
    )
    assert opened(batch).alone(0)[2].endswith(b"\x02zero\x010\x02")


@pytest.mark.parametrize(("batch_bytes", "batch_rows", "expected"), [(1 << 20, 3, [3, 3, 1]), (150, 99, [2, 2, 2, 1])])
def test_a_batch_takes_so_much_and_no_more(batch_bytes: int, batch_rows: int, expected: list[int]) -> None:
    fill = opened(pa.RecordBatch.from_pydict({"body": ["x"] * 7}), 0, batch_bytes, batch_rows)
    batches, taken = TopicBatches("T", QUEUES), Taken()
    fill.fill(batches, 0, 7, taken)
    taken.send_batch(batches.any)
    assert [len(bodies) for bodies in taken.bodies()] == expected
    assert max(map(len, taken.batches)) <= batch_bytes


def test_an_entry_larger_than_a_batch_goes_by_itself() -> None:
    fill = opened(pa.RecordBatch.from_pydict({"body": ["x", "y" * 1000, "z"]}), 0, 100)
    batches, taken = TopicBatches("T", QUEUES), Taken()
    fill.fill(batches, 0, 3, taken)
    taken.send_batch(batches.any)
    assert taken.bodies() == [[b"x"], [b"y" * 1000], [b"z"]]


def test_a_delayed_row_goes_after_those_before_it() -> None:
    rows: list[Row] = [
        {"body": "a", "delayLevel": None},
        {"body": "b", "delayLevel": 3},
        {"body": "c", "delayLevel": 0},
    ]
    batches, taken = TopicBatches("T", QUEUES), Taken()
    opened(table(rows, {"delayLevel"})).fill(batches, 0, 3, taken)
    taken.send_batch(batches.any)
    assert taken.bodies() == [[b"a"], [b"c"]]
    assert taken.rows == [(0, b"b", properties_of(rows[1], 1, {"delayLevel"}))]


def test_runs_of_one_topic() -> None:
    rows = [{"body": "b", "topic": topic} for topic in ("A", "A", "B", "AA", None, None, "A")]
    fill = opened(table(rows, {"topic"}).slice(1))
    assert [fill.topic_end(row, 6) for row in range(6)] == [1, 2, 3, 4, 5, 6]
    assert opened(table(rows, {"topic"})).topic_end(0, 7) == 2
    assert [fill.topic(row) for row in (0, 1, 2, 5)] == ["A", "B", "AA", "A"]
    with pytest.raises(BadRow, match="row 3 of the task has no topic"):
        fill.topic(3)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"body": None}, "has no body"),
        ({"body": ""}, "has no body"),
        ({"body": "x" * (4 << 20)}, "is a message of 4194368 bytes; a broker takes 4194304"),
        ({"body": "b", "tags": "x" * 32_720}, "has properties of 32768 bytes; a message takes 32767"),
        ({"body": "b", "tags": "a\x02b"}, "has a property with 'a.x02b' in it: U.0002 ends a value"),
        ({"body": "b", "properties": [("a\x01b", "c")]}, "has a property 'a.x01b': U.0001 ends a name"),
        ({"body": "b", "flag": 1 << 31}, "has the flag 2147483648, which 32 bits cannot hold"),
        ({"body": "b", "queueId": 7}, "wants a queue that topic T does not have: 7"),
    ],
)
def test_a_bad_row_is_named(row: Row, reason: str) -> None:
    fill = opened(table([{**dict.fromkeys(row), "body": "good"}, row], set(row), number=pa.int64()), 40)
    batches = TopicBatches("T", QUEUES)
    with pytest.raises(BadRow, match=f"row 41 of the task {reason}"):
        fill.fill(batches, 0, 2, Taken())
    assert len(decode_batch(batches.any.take())) == 1
