"""Spark's filters as bounds on what has to be read.

A filter only narrows what we look at: every filter is handed back, so that Spark checks the rows itself and nothing
depends on how finely we can cut. Filters that we do not understand narrow nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sprocketmq.store.view.scan_select import Selection
from sprocketmq.store.view.store import FOREVER

#: Column -> the field of Narrowing that holds its allowed values.
_SETS = {"topic": "topics", "brokerName": "brokers", "queueId": "queue_ids", "tags": "tags"}
#: Column -> the fields that hold its bounds, begin and end, half-open.
_BOUNDS = {
    "queueOffset": ("begin_offset", "end_offset"),
    "commitLogOffset": ("begin_physical", "end_physical"),
    "storeTimestamp": ("begin_time", "end_time"),
}


@dataclass(frozen=True)
class Narrowing:
    """None in a set's place allows everything, an empty set nothing. All bounds are half-open; times are in ms."""

    topics: frozenset[str] | None = None
    brokers: frozenset[str] | None = None
    queue_ids: frozenset[int] | None = None
    tags: frozenset[str] | None = None
    begin_offset: int = 0
    end_offset: int = FOREVER
    begin_physical: int = 0
    end_physical: int = FOREVER
    begin_time: int = 0
    end_time: int = FOREVER

    @property
    def nothing(self) -> bool:
        """Whether no message at all can pass."""
        sets = (self.topics, self.brokers, self.queue_ids, self.tags)
        bounds = [(getattr(self, begin), getattr(self, end)) for begin, end in _BOUNDS.values()]
        return any(allowed is not None and not allowed for allowed in sets) or any(b >= e for b, e in bounds)

    def allows(self, topic: str, broker: str, queue_id: int) -> bool:
        pairs = ((self.topics, topic), (self.brokers, broker), (self.queue_ids, queue_id))
        return all(allowed is None or value in allowed for allowed, value in pairs)

    def only(self, name: str, values: Iterable[Any]) -> Narrowing:
        """Narrowed to these values of a set."""
        allowed = getattr(self, name)
        kept = frozenset(values) if allowed is None else allowed & frozenset(values)
        changes: dict[str, Any] = {name: kept}
        return replace(self, **changes)

    def within(self, column: str, begin: int, end: int) -> Narrowing:
        low, high = _BOUNDS[column]
        return replace(self, **{low: max(getattr(self, low), begin), high: min(getattr(self, high), end)})

    def selection(self) -> Selection:
        return Selection(
            topics=self.topics or frozenset(),
            queue_ids=self.queue_ids or frozenset(),
            tags=self.tags or frozenset(),
            begin_time=self.begin_time,
            end_time=FOREVER if self.end_time == FOREVER else self.end_time - 1,
            begin_offset=self.begin_offset,
            end_offset=self.end_offset,
            begin_physical=self.begin_physical,
            end_physical=self.end_physical,
        )


def narrow(start: Narrowing, filters: Iterable[Any]) -> Narrowing:
    """`start` with Spark's filters (all of which must hold) worked in."""
    for one in filters:
        start = _apply(start, one)
    return start


def _apply(start: Narrowing, one: Any) -> Narrowing:
    kind, column = type(one).__name__, ".".join(getattr(one, "attribute", ()))
    value = getattr(one, "value", None)
    if column in _SETS and kind in ("EqualTo", "EqualNullSafe", "In"):
        values = [each for each in (value if kind == "In" else [value]) or [] if each is not None]
        return start.only(_SETS[column], values)
    if column in _BOUNDS and value is not None:
        return start.within(column, *_range(kind, column, value))
    return start


def _range(kind: str, column: str, value: Any) -> tuple[int, int]:
    """The half-open range of whole numbers that can satisfy a comparison."""
    if kind == "In":
        places = [_whole(column, each) for each in value if each is not None]
        return (min(places)[0], max(places)[1]) if places else (0, 0)
    low, high = _whole(column, value)
    ranges = {
        "EqualTo": (low, high),
        "EqualNullSafe": (low, high),
        "GreaterThan": (low, FOREVER),
        "GreaterThanOrEqual": (low, FOREVER),
        "LessThan": (0, high),
        "LessThanOrEqual": (0, high),
    }
    return ranges.get(kind, (0, FOREVER))


def _whole(column: str, value: Any) -> tuple[int, int]:
    """The whole number that holds the value, and the next. A time without a zone may be any zone's: a day each way."""
    if column != "storeTimestamp":
        return int(value), int(value) + 1
    if not isinstance(value, datetime):
        return 0, FOREVER
    if value.tzinfo is None:
        day = 86_400_000
        milliseconds = int(value.replace(tzinfo=UTC).timestamp() * 1000)
        return milliseconds - day, milliseconds + day
    milliseconds = int(value.timestamp() * 1000)
    return milliseconds, milliseconds + 1
