"""Records as Arrow columns: from the bytes of a pull answer or a CommitLog file to a RecordBatch.

    batch = decode_columns(segment, columns=("queueOffset", "tags", "body"), topics={"orders"})

Only what is asked for is paid for. Times are timestamps in microseconds, which Spark takes as they are. `sysFlag` is
as stored: its bit 0 tells that the body travelled compressed, though the `body` column holds it plain.

pyarrow is imported when the first batch is made: the protocol layer works without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from sprocketmq.protocol.arrow import numbers
from sprocketmq.protocol.arrow.properties import property_columns
from sprocketmq.protocol.arrow.rows import Rows, Wanted, rows_of_run
from sprocketmq.protocol.arrow.text_column import Room, TextColumn
from sprocketmq.protocol.record.compression import DEFAULT_LIMIT, decompress
from sprocketmq.protocol.record.properties import KEYS, TAGS, UNIQUE_KEY
from sprocketmq.protocol.record.sysflag import BORN_HOST_V6, COMPRESSED, STORE_HOST_V6, compression_type

if TYPE_CHECKING:
    import pyarrow as pa

#: Where a row says that a part of its record begins; the order of `rows`.
_AT, _STORE_TIME_AT, _BODY_AT, _BODY_END, _TOPIC_AT, _TOPIC_END, _END, _SYS_FLAG = range(0, 64, 8)

#: Numbers: column -> (how to fill it, from which place, at what distance).
_Fill = Callable[[Any, Rows, int, int, Room], Any]
_NUMBERS: dict[str, tuple[_Fill, int, int]] = {
    "queueId": (numbers.numbers_32, _AT, 12),
    "queueOffset": (numbers.numbers_64, _AT, 20),
    "commitLogOffset": (numbers.numbers_64, _AT, 28),
    "bornTimestamp": (numbers.micros, _AT, 40),
    "storeTimestamp": (numbers.micros, _STORE_TIME_AT, 0),
    "reconsumeTimes": (numbers.numbers_32, _BODY_AT, -16),
    "sysFlag": (numbers.numbers_32, _AT, 36),
    "flag": (numbers.numbers_32, _AT, 16),
    "preparedTransactionOffset": (numbers.numbers_64, _BODY_AT, -12),
    "storeSize": (numbers.numbers_32, _AT, 0),
}
_PROPERTIES = {"tags": TAGS.encode(), "keys": KEYS.encode(), "uniqKey": UNIQUE_KEY.encode()}

COLUMNS = (
    "topic", "queueId", "queueOffset", "commitLogOffset", "bornTimestamp", "storeTimestamp", "bornHost", "storeHost",
    "tags", "keys", "uniqKey", "msgId", "properties", "body", "reconsumeTimes", "sysFlag", "flag",
    "preparedTransactionOffset", "storeSize",
)  # fmt: skip


@cache
def schema(columns: tuple[str, ...] = COLUMNS) -> pa.Schema:
    """The Arrow schema of these columns, in this order."""
    import pyarrow as pa

    types: dict[Any, Any] = {
        numbers.numbers_32: pa.int32(),
        numbers.numbers_64: pa.int64(),
        numbers.micros: pa.timestamp("us", "UTC"),
    }
    texts = ("topic", "bornHost", "storeHost", "tags", "keys", "uniqKey", "msgId")
    known: dict[str, Any] = {name: types[fill] for name, (fill, _, _) in _NUMBERS.items()}
    known |= dict.fromkeys(texts, pa.string())
    known |= {"properties": pa.map_(pa.string(), pa.string()), "body": pa.binary()}
    if unknown := [name for name in columns if name not in known]:
        raise ValueError(f"no such column: {', '.join(unknown)}")
    return pa.schema([pa.field(name, known[name], nullable=name in _PROPERTIES) for name in columns])


def decode_columns(
    data: Any,
    at: int = 0,
    end: int | None = None,
    *,
    columns: Sequence[str] = COLUMNS,
    topics: Iterable[str] | None = None,
    queue_id: int | None = None,
    tags_codes: Iterable[int] | None = None,
    plain_bodies: bool = True,
    check_crc: bool = False,
    body_limit: int = DEFAULT_LIMIT,
) -> pa.RecordBatch:
    """The records back to back in data[at:end], up to its end or a blank record, that pass the filters.

    Anything else than a whole record is a BodyError that names its offset.
    """
    wanted = Wanted(topics, queue_id, tags_codes, check_crc)
    rows = rows_of_run(data, at, len(data) if end is None else end, wanted)
    return batch_of(data, rows, tuple(columns), plain_bodies, body_limit)


@cache
def _types(columns: tuple[str, ...]) -> list[tuple[str, Any]]:
    return [(field.name, field.type) for field in schema(columns)]


def batch_of(
    data: Any, rows: Rows, columns: tuple[str, ...], plain_bodies: bool = True, body_limit: int = DEFAULT_LIMIT
) -> pa.RecordBatch:
    """The columns of rows that were found in `data`."""
    import pyarrow as pa

    room = pa.allocate_buffer
    arrays = _property_arrays(data, rows, columns, room)
    for name, kind in _types(columns):
        if name in _NUMBERS:
            fill, anchor, distance = _NUMBERS[name]
            arrays[name] = pa.Array.from_buffers(kind, rows.count, [None, fill(data, rows, anchor, distance, room)])
        elif name not in arrays:
            plain = _inflated(data, rows, body_limit) if name == "body" and plain_bodies else None
            arrays[name] = pa.Array.from_buffers(kind, rows.count, [None, *_texts(name, data, rows, plain, room)])
    return pa.RecordBatch.from_arrays([arrays[name] for name in columns], schema=schema(columns))


def _texts(name: str, data: Any, rows: Rows, plain: dict[int, bytes] | None, room: Room) -> tuple[Any, Any]:
    """Offsets and data of a column without nulls."""
    if name == "topic":
        return numbers.slices(data, rows, _TOPIC_AT, _TOPIC_END, room)
    if name == "bornHost":
        return numbers.hosts(data, rows, _AT, 48, BORN_HOST_V6, room)
    if name == "storeHost":
        return numbers.hosts(data, rows, _STORE_TIME_AT, 8, STORE_HOST_V6, room)
    if name == "msgId":
        return numbers.message_ids(data, rows, room)
    return numbers.slices(data, rows, _BODY_AT, _BODY_END, room, plain)


def _inflated(data: Any, rows: Rows, limit: int) -> dict[int, bytes] | None:
    """The plain bodies of those rows whose bodies are compressed; together no more than a column holds, for a few
    kilobytes can be as many megabytes.
    """
    plain, total = {}, 0
    for row, begin, end, sys_flag in numbers.compressed_rows(rows, COMPRESSED):
        if (kind := compression_type(sys_flag)) is not None:
            plain[row] = decompress(bytes(data[begin:end]), kind, limit)
            total += len(plain[row])
            if total > numbers.MAX_COLUMN_BYTES:
                raise ValueError(f"more than {numbers.MAX_COLUMN_BYTES} bytes in one column: take a shorter run")
    return plain or None


def _property_arrays(data: Any, rows: Rows, columns: tuple[str, ...], room: Room) -> dict[str, Any]:
    names = [name for name in columns if name in _PROPERTIES]
    with_map = "properties" in columns
    if not names and not with_map:
        return {}
    import pyarrow as pa

    filled = property_columns(data, rows, with_map, [_PROPERTIES[name] for name in names], room)
    arrays: dict[str, Any] = {name: _text_array(column) for name, column in zip(names, filled.singles, strict=True)}
    if with_map:
        offsets: Any = pa.Array.from_buffers(pa.int32(), rows.count + 1, [None, filled.maps.offsets])
        arrays["properties"] = pa.MapArray.from_arrays(offsets, _text_array(filled.keys), _text_array(filled.values))
    return arrays


def _text_array(column: TextColumn) -> Any:
    import pyarrow as pa

    return pa.Array.from_buffers(pa.string(), column.count, list(column.buffers()))
