"""One interface to both kinds of subscription, for the broker's pull path and for the client.

filter_of(type, text)     TAG (also None and "") or SQL92
match_bits(map, time)     by a ConsumeQueueExt unit alone: False is certain, True may need a second look
match_properties(props)   by the message: final

The codes of tags in a ConsumeQueue entry are compared where entries are read, without a filter (`store.pull.gather`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from sprocketmq.errors import FilterError
from sprocketmq.filter.bloom import BloomData, has_bits
from sprocketmq.filter.sql import SqlExpression, compile_sql
from sprocketmq.filter.tags import TagExpression, parse_tags
from sprocketmq.protocol.names import SQL92, TAG
from sprocketmq.protocol.record.properties import TAGS, decode_properties

#: Decoded, or as a record holds them.
Properties = Mapping[str, str] | bytes | memoryview


class MessageFilter(Protocol):
    """Decides which messages a subscription gets."""

    def match_bits(self, bit_map: bytes | memoryview | None, store_timestamp: int) -> bool: ...

    def match_properties(self, properties: Properties) -> bool: ...


class TagFilter:
    """The broker goes by the code alone; the client, which has the message, by the tag itself."""

    def __init__(self, expression: TagExpression) -> None:
        self.expression = expression

    def match_bits(self, bit_map: bytes | memoryview | None, store_timestamp: int) -> bool:
        return True

    def match_properties(self, properties: Properties) -> bool:
        return self.expression.matches_tag(_decoded(properties).get(TAGS))


class SqlFilter:
    """SQL92. With `bloom`, units of messages stored after `born_timestamp` (ms) are decided by their bits first."""

    def __init__(self, expression: SqlExpression, bloom: BloomData | None = None, born_timestamp: int = 0) -> None:
        self.expression = expression
        self.bloom = bloom
        self.born_timestamp = born_timestamp

    def match_bits(self, bit_map: bytes | memoryview | None, store_timestamp: int) -> bool:
        """A unit from before the subscription, without a map, or with one of another size says nothing."""
        bloom = self.bloom
        if bloom is None or bit_map is None or store_timestamp <= self.born_timestamp:
            return True
        return len(bit_map) * 8 != bloom.bit_count or has_bits(bit_map, bloom.positions)

    def match_properties(self, properties: Properties) -> bool:
        return self.expression.matches(_decoded(properties))


def filter_of(
    expression_type: str | None, text: str | None, *, bloom: BloomData | None = None, born_timestamp: int = 0
) -> MessageFilter:
    """Raises FilterError for text that is no expression of that type, and for a type there is no filter for."""
    if not expression_type or expression_type == TAG:
        return TagFilter(parse_tags(text))
    if expression_type != SQL92:
        raise FilterError(f"no filter for expressions of type {expression_type!r}")
    return SqlFilter(compile_sql(text or ""), bloom, born_timestamp)


def _decoded(properties: Properties) -> Mapping[str, str]:
    if isinstance(properties, bytes | memoryview):
        return decode_properties(str(properties, "utf-8", "replace"))
    return properties
