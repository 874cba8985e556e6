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
        if sql is None:
            return cls(topic, tags.strip() or ALL)
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
