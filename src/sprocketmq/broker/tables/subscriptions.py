"""What a group wants of a topic, ready for the store.

`wanted` is what the store filters by: None for every message, the hash codes of the tags, or a rule that looks at the
message's properties. It is made once for a subscription, not for each pull; those of expressions that pulls bring along
are kept for the next, the latest used of them, as far as they fit into a few megabytes.
"""

from __future__ import annotations

from collections import OrderedDict
from sys import getsizeof

from sprocketmq.filter.expression import SqlFilter, TagFilter, filter_of
from sprocketmq.filter.tags import check_length
from sprocketmq.hot.memory import as_int32
from sprocketmq.protocol.bodies.heartbeat import SubscriptionData
from sprocketmq.protocol.names import ALL, SQL92, TAG
from sprocketmq.store.queue.ext_format import ExtUnit

#: What the kept filters may take together.
_CACHE_BYTES = 8 << 20
#: What one takes, as measured: in the cache, for the code of a tag, for a character of SQL92.
_ENTRY_BYTES, _CODE_BYTES, _SQL_BYTES = 512, 140, 48


class PropertyRule:
    """An SQL92 filter in the form that the store's gathering takes."""

    __slots__ = ("_filter", "cost")

    def __init__(self, rule: SqlFilter) -> None:
        self._filter = rule
        self.cost = len(rule.expression.text)

    def matches_entry(self, _tags_code: int, unit: ExtUnit | None) -> bool:
        """Bits that were kept when the message was dispatched may rule it out without a look at it."""
        return unit is None or self._filter.match_bits(unit.bitmap, unit.store_timestamp)

    def matches_properties(self, properties: bytes) -> bool:
        return self._filter.match_properties(properties)


Wanted = frozenset[int] | PropertyRule | None


class GroupSubscription:
    __slots__ = ("data", "is_sql", "kept_bytes", "wanted")

    def __init__(self, data: SubscriptionData, wanted: Wanted) -> None:
        self.data = data
        self.wanted = wanted
        self.is_sql = isinstance(wanted, PropertyRule)
        self.kept_bytes = subscription_bytes(data)


def subscription_bytes(data: SubscriptionData) -> int:
    """About what is kept of a subscription, as measured; an expression counts as what it may be compiled to."""
    if data.expression_type == SQL92:
        compiled = len(data.sub_string) * _SQL_BYTES
    else:
        compiled = (data.sub_string.count("||") + len(data.code_set)) * _CODE_BYTES
    tags = len(data.tags_set) * _CODE_BYTES + sum(map(len, data.tags_set))
    return _ENTRY_BYTES + getsizeof(data.sub_string) + compiled + tags


def subscription_of(data: SubscriptionData) -> GroupSubscription:
    """A client's subscription, compiled. Raises FilterError for an expression that cannot be read."""
    if data.expression_type in ("", TAG):
        check_length(data.sub_string)
        return GroupSubscription(data, _tag_codes(data))
    return GroupSubscription(data, wanted_by(data.expression_type, data.sub_string))


def _tag_codes(data: SubscriptionData) -> frozenset[int] | None:
    """The codes that the client worked out count, for it may know tags that its text does not show."""
    if data.sub_string == ALL or data.class_filter_mode:
        return None
    if data.code_set:
        return data.code_set
    wanted = wanted_by(TAG, data.sub_string)
    assert not isinstance(wanted, PropertyRule)
    return wanted


class FilterCache:
    """Filters by kind and text, within `max_bytes`; the one that was not asked for the longest goes first."""

    def __init__(self, max_bytes: int) -> None:
        self.size = 0
        self._max_bytes = max_bytes
        self._kept: OrderedDict[tuple[str, str], Wanted] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, expression_type: str, text: str) -> Wanted:
        key = (expression_type, text)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        wanted = self._kept[key] = _compile(expression_type, text)
        self.size += _ENTRY_BYTES + filter_bytes(text, wanted)
        while self.size > self._max_bytes:
            (_type, oldest), gone = self._kept.popitem(last=False)
            self.size -= _ENTRY_BYTES + filter_bytes(oldest, gone)
        return wanted


def filter_bytes(text: str, wanted: Wanted) -> int:
    """About what a filter and its text take."""
    if wanted is None:
        return len(text)
    return len(text) + (len(text) * _SQL_BYTES if isinstance(wanted, PropertyRule) else len(wanted) * _CODE_BYTES)


def _compile(expression_type: str, text: str) -> Wanted:
    rule = filter_of(expression_type, text)
    if isinstance(rule, TagFilter):
        return None if rule.expression.text == ALL else rule.expression.codes
    assert isinstance(rule, SqlFilter)
    return PropertyRule(rule)


_filters = FilterCache(_CACHE_BYTES)


def wanted_by(expression_type: str, text: str) -> Wanted:
    """What an expression lets pass; equal expressions share one filter. Raises FilterError."""
    return _filters.find(expression_type, text)


def matches(wanted: Wanted, tags_code: int, properties: bytes) -> bool:
    """Whether a message that has just arrived is for this subscription."""
    if wanted is None:
        return True
    if isinstance(wanted, PropertyRule):
        return wanted.matches_properties(properties)
    return as_int32(tags_code) in wanted


__all__ = [
    "SQL92",
    "TAG",
    "FilterCache",
    "GroupSubscription",
    "PropertyRule",
    "Wanted",
    "filter_bytes",
    "matches",
    "subscription_of",
    "wanted_by",
]
