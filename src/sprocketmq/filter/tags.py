"""Tag expressions: `*` for every message, or tags joined by `||`.

The broker compares hash codes, which is all a ConsumeQueue entry holds; the client compares the text again, because
two tags may share a code. Both do so through a TagExpression.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sprocketmq.errors import FilterError
from sprocketmq.filter.sql import MAX_LENGTH
from sprocketmq.protocol.names import ALL
from sprocketmq.protocol.record.hashing import codes_in

SEPARATOR = "||"

_TRIMMED = "".join(map(chr, range(0x21)))  # as String.trim: everything up to the blank


@dataclass(frozen=True)
class TagExpression:
    """What a subscription carries: the text as given (`*` for none), the codes of its tags, and the tags themselves."""

    text: str
    codes: frozenset[int]

    @cached_property
    def tags(self) -> frozenset[str]:
        """A broker never asks."""
        if self.text == ALL:
            return frozenset()
        return frozenset(tag for piece in self.text.split(SEPARATOR) if (tag := piece.strip(_TRIMMED)))

    def matches_tag(self, tag: str | None) -> bool:
        """By the message's own tag, exactly. An expression without tags lets everything pass, as in RocketMQ."""
        return not self.tags or tag in self.tags


def parse_tags(text: str | None) -> TagExpression:
    """Raises FilterError for an expression of separators alone, and for one that is too long."""
    if not text or text == ALL:
        return TagExpression(ALL, frozenset())
    check_length(text)
    codes = codes_in(text)
    if not codes and not text.strip(SEPARATOR):  # blanks alone are an expression that matches nothing
        raise FilterError(f"no tag in {text!r}")
    return TagExpression(text, codes)


def check_length(text: str) -> None:
    """The bound of SQL92 holds for tags too: whoever pulls may send an expression, and filters are kept."""
    if len(text) > MAX_LENGTH:
        raise FilterError(f"TAG: the expression has {len(text)} characters, more than {MAX_LENGTH}")
