"""What a consumer wants of a topic: everything, some tags, or what an SQL92 expression selects."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property

from sprocketmq.client.received import ReceivedMessage
from sprocketmq.protocol import bodies
from sprocketmq.protocol.names import ALL, SQL92, TAG
from sprocketmq.protocol.record.hashing import string_hash


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _check_text(field: str, given: object) -> None:
    if not isinstance(given, str):
        hint = "; several are joined by ||" if field == "tags" else ""
        raise TypeError(f"{field} must be a str, not {type(given).__name__}{hint}")


@dataclass(frozen=True)
class Subscription:
    """One topic of one group. `version` tells the broker which of two is newer."""

    topic: str
    expression: str = ALL
    kind: str = TAG
    version: int = field(default_factory=_now_ms, compare=False)

    @classmethod
    def of(cls, topic: str, tags: str = ALL, sql: str | None = None) -> Subscription:
        """`tags` like `new || paid`, or an SQL92 expression over the properties."""
        _check_text("tags", tags)
        if sql is None:
            wanted = cls(topic, tags.strip() or ALL)
            if wanted.expression != ALL and not wanted.tags:
                raise ValueError(f"tags={tags!r}: there is no tag in it; '*' stands for all")
            return wanted
        _check_text("sql", sql)
        if tags not in ("", ALL):
            raise ValueError("a subscription selects by tags or by sql, not by both")
        return cls(topic, sql, SQL92)

    @cached_property
    def tags(self) -> frozenset[str]:
        """The tags that pass; empty means all."""
        if self.kind != TAG or self.expression == ALL:
            return frozenset()
        return frozenset(tag for part in self.expression.split("||") if (tag := part.strip()))

    def select(self, messages: list[ReceivedMessage]) -> list[ReceivedMessage]:
        """Those whose tag is wanted to the letter: a broker compares hashes, and hashes collide."""
        tags = self.tags
        return [message for message in messages if message.tag in tags] if tags else messages

    def data(self) -> bodies.heartbeat.SubscriptionData:
        return bodies.heartbeat.SubscriptionData(
            topic=self.topic,
            sub_string=self.expression,
            tags_set=self.tags,
            code_set=frozenset(string_hash(tag) for tag in self.tags),
            sub_version=self.version,
            expression_type=self.kind,
        )
