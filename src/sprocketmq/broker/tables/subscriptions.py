"""What a group wants of a topic, ready for the store.

`wanted` is what the store filters by: None for every message, the hash codes of the tags, or a rule that looks at the
message's properties. It is made once for a subscription, not for each pull.
"""

from __future__ import annotations

from functools import lru_cache

from sprocketmq.filter.expression import MessageFilter, SqlFilter, TagFilter, filter_of
from sprocketmq.protocol.bodies.heartbeat import SubscriptionData
from sprocketmq.protocol.names import ALL, SQL92, TAG
from sprocketmq.store.queue.ext_format import ExtUnit


class PropertyRule:
    """An SQL92 filter in the form that the store's gathering takes."""

    __slots__ = ("_filter",)

    def __init__(self, rule: MessageFilter) -> None:
        self._filter = rule

    def matches_entry(self, _tags_code: int, unit: ExtUnit | None) -> bool:
        """Bits that were kept when the message was dispatched may rule it out without a look at it."""
        return unit is None or self._filter.match_bits(unit.bitmap, unit.store_timestamp)

    def matches_properties(self, properties: bytes) -> bool:
        return self._filter.match_properties(properties)


Wanted = frozenset[int] | PropertyRule | None


class Subscription:
    __slots__ = ("data", "is_sql", "wanted")

    def __init__(self, data: SubscriptionData, wanted: Wanted) -> None:
        self.data = data
        self.wanted = wanted
        self.is_sql = isinstance(wanted, PropertyRule)


def subscription_of(data: SubscriptionData) -> Subscription:
    """A client's subscription, compiled. Raises FilterError for an expression that cannot be read."""
    if data.expression_type in ("", TAG):
        return Subscription(data, _tag_codes(data))
    return Subscription(data, wanted_by(data.expression_type, data.sub_string))


def _tag_codes(data: SubscriptionData) -> frozenset[int] | None:
    """The codes that the client worked out count, for it may know tags that its text does not show."""
    if data.sub_string == ALL or data.class_filter_mode:
        return None
    if data.code_set:
        return data.code_set
    wanted = wanted_by(TAG, data.sub_string)
    assert not isinstance(wanted, PropertyRule)
    return wanted


@lru_cache(maxsize=4096)
def wanted_by(expression_type: str, text: str) -> Wanted:
    """What an expression lets pass; equal expressions share one filter."""
    rule = filter_of(expression_type, text)
    if isinstance(rule, TagFilter):
        return None if rule.expression.text == ALL else rule.expression.codes
    assert isinstance(rule, SqlFilter)
    return PropertyRule(rule)


def matches(wanted: Wanted, tags_code: int, properties: bytes) -> bool:
    """Whether a message that has just arrived is for this subscription."""
    if wanted is None:
        return True
    if isinstance(wanted, PropertyRule):
        return wanted.matches_properties(properties)
    return _as_int32(tags_code) in wanted


def _as_int32(code: int) -> int:
    return (code & 0xFFFFFFFF ^ 0x80000000) - 0x80000000


__all__ = ["SQL92", "TAG", "PropertyRule", "Subscription", "Wanted", "matches", "subscription_of", "wanted_by"]
