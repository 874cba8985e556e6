"""Tag expressions: `*` for every message, or tags joined by `||`.

The broker compares hash codes, which is all a ConsumeQueue entry holds; the client compares the text again, because
two tags may share a code. Both do so through a TagExpression.
"""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.errors import FilterError
from sprocketmq.filter.sql import MAX_LENGTH
from sprocketmq.protocol.names import ALL
from sprocketmq.protocol.record.hashing import string_hash

SEPARATOR = "||"

_TRIMMED = "".join(map(chr, range(0x21)))  # as String.trim: everything up to the blank


@dataclass(frozen=True, slots=True)
class TagExpression:
    """What a subscription carries: the text as given (`*` for none), the tags in it and their codes."""

    text: str
    tags: frozenset[str]
    codes: frozenset[int]

    def matches_tag(self, tag: str | None) -> bool:
        """By the message's own tag, exactly. An expression without tags lets everything pass, as in RocketMQ."""
        return not self.tags or tag in self.tags


def parse_tags(text: str | None) -> TagExpression:
    """Raises FilterError for an expression of separators alone, and for one that is too long."""
    if not text or text == ALL:
        return TagExpression(ALL, frozenset(), frozenset())
    check_length(text)
    pieces = text.split(SEPARATOR)
    if not any(pieces):
        raise FilterError(f"no tag in {text!r}")
    tags = frozenset(tag for piece in pieces if (tag := piece.strip(_TRIMMED)))
    return TagExpression(text, tags, frozenset(map(string_hash, tags)))


def check_length(text: str) -> None:
    """The bound of SQL92 holds for tags too: whoever pulls may send an expression, and filters are kept."""
    if len(text) > MAX_LENGTH:
        raise FilterError(f"TAG: the expression has {len(text)} characters, more than {MAX_LENGTH}")
