"""What a record of the log adds to the queues and to the index.

transaction type    consume queue   index
none                yes             yes
prepared            no              yes
commit              yes             yes
rollback            no              no
"""

from __future__ import annotations

from sprocketmq.protocol.names import SCHEDULE_TOPIC
from sprocketmq.protocol.record.hashing import index_key_hash, tags_code
from sprocketmq.protocol.record.properties import DELAY, KEYS, TAGS, UNIQUE_KEY, decode_properties, split_keys
from sprocketmq.protocol.record.property_numbers import number_in
from sprocketmq.protocol.record.record import Record
from sprocketmq.protocol.record.sysflag import is_indexed
from sprocketmq.store.config import DEFAULT_DELAY_LEVELS, parse_delay_levels
from sprocketmq.store.queue.format import QueueEntry

_DELAYS = parse_delay_levels(DEFAULT_DELAY_LEVELS)


def properties_of(record: Record) -> dict[str, str]:
    return decode_properties(record.properties.decode("utf-8", "replace"))


def queue_entry(record: Record, properties: dict[str, str], delays: tuple[int, ...] = _DELAYS) -> QueueEntry:
    """The record's entry; for a delayed message the tags code is the time of its delivery."""
    code = tags_code(properties.get(TAGS))
    if record.topic == SCHEDULE_TOPIC and (wait := delay_ms(properties.get(DELAY), delays)) >= 0:
        code = record.store_timestamp + wait
    return QueueEntry(record.commit_offset, record.size, code)


def index_keys(record: Record, properties: dict[str, str]) -> list[str]:
    """The unique key first, then each of the user's keys."""
    if not is_indexed(record.sys_flag):
        return []
    unique = properties.get(UNIQUE_KEY)
    return [*([unique] if unique else []), *split_keys(properties.get(KEYS, ""))]


def key_hashes(record: Record, properties: dict[str, str]) -> list[int]:
    return [index_key_hash(record.topic, key) for key in index_keys(record, properties)]


def delay_ms(level: str | None, delays: tuple[int, ...]) -> int:
    """How long the level waits, the longest for one above all; -1 for what is no level."""
    number = number_in(level) or 0
    return delays[min(number, len(delays)) - 1] if number > 0 else -1
