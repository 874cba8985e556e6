"""Arrow batches as messages ready to be sent: body, properties as they travel, and where to."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from sprocketmq.client.message import RESERVED_PROPERTIES
from sprocketmq.errors import SprocketError
from sprocketmq.protocol.hashing import string_hash
from sprocketmq.spark.identity import unique_key

if TYPE_CHECKING:
    import pyarrow as pa

#: Properties that a row may carry though they belong to RocketMQ: what a reader of ours put into the map.
_DROPPED = RESERVED_PROPERTIES


class BadRow(SprocketError):
    """A row that cannot be a message."""


class OutRow(NamedTuple):
    """One message. `shard` picks the queue when `queue_id` does not; without both any queue will do."""

    topic: str
    body: bytes
    properties: bytes
    unique_key: str
    queue_id: int | None
    shard: int | None
    delayed: bool
    flag: int


def rows_of(batch: pa.RecordBatch, topic: str | None, seal: str, first_row: int, extra: str = "") -> Iterator[OutRow]:
    """The messages of a batch whose first row has the number `first_row` in its task."""
    names = set(batch.schema.names)

    def column(name: str) -> Any:
        return batch.column(name).to_pylist() if name in names else repeat(None)

    bodies = column("body" if "body" in names else "value")
    topics = repeat(topic) if topic is not None else column("topic")
    numbers = range(first_row, first_row + batch.num_rows)
    rest = (column(name) for name in ("tags", "keys", "properties", "delayLevel", "shardingKey", "queueId", "flag"))
    for number, body, to, tags, keys, properties, delay, sharding, queue_id, flag in zip(
        numbers, bodies, topics, *rest, strict=False
    ):
        if not body or not to:
            raise BadRow(f"row {number} of the task has no {'topic' if body else 'body'}")
        key = unique_key(seal, number)
        text = f"UNIQ_KEY\x01{key}\x02WAIT\x01true\x02{extra}"
        if tags:
            text += f"TAGS\x01{tags}\x02"
        if keys:
            text += f"KEYS\x01{keys if isinstance(keys, str) else ' '.join(keys)}\x02"
        if sharding:
            text += f"__SHARDINGKEY\x01{sharding}\x02"
        if delay:
            text += f"DELAY\x01{delay}\x02"
        if properties:
            text += _user_properties(properties)
        yield OutRow(
            to,
            body.encode() if isinstance(body, str) else body,
            text.encode(),
            key,
            queue_id,
            string_hash(sharding) if sharding else None,
            bool(delay),
            flag or 0,
        )


def _user_properties(properties: Any) -> str:
    """Arrow gives a map as pairs. RocketMQ's own properties are made anew, not copied."""
    pairs = properties.items() if isinstance(properties, dict) else properties
    return "".join(f"{name}\x01{value}\x02" for name, value in pairs if value and name not in _DROPPED)
