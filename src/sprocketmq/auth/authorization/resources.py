"""What a policy speaks of: a topic, a group or a cluster, by its name, by a prefix, or any.

*                 anything
Topic:name        LITERAL
Topic:pre*        PREFIXED; the name ends at the first `*`
Topic:*           ANY of its type
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import TypeVar

E = TypeVar("E", bound=Enum)


class ResourceType(IntEnum):
    """The numbers are RocketMQ's on disk."""

    UNKNOWN = 0
    ANY = 1
    CLUSTER = 2
    NAMESPACE = 3
    TOPIC = 4
    GROUP = 5

    @property
    def word(self) -> str:
        return self.name.capitalize()


class Pattern(IntEnum):
    ANY = 1
    LITERAL = 2
    PREFIXED = 3


class Action(IntEnum):
    UNKNOWN = 0
    ALL = 1
    ANY = 2
    PUB = 3
    SUB = 4
    CREATE = 5
    UPDATE = 6
    DELETE = 7
    GET = 8
    LIST = 9

    @property
    def word(self) -> str:
        return self.name.capitalize()


class Decision(IntEnum):
    ALLOW = 1
    DENY = 2

    @property
    def word(self) -> str:
        return self.name.capitalize()


@dataclass(frozen=True, slots=True)
class Resource:
    type: ResourceType
    pattern: Pattern = Pattern.ANY
    #: None with `ANY`.
    name: str | None = None

    def __str__(self) -> str:
        if self.type is ResourceType.ANY:
            return "*"
        return f"{self.type.word}:{self.name or ''}{'*' if self.pattern is not Pattern.LITERAL else ''}"


ANYTHING = Resource(ResourceType.ANY)


def topic(name: str) -> Resource:
    return Resource(ResourceType.TOPIC, Pattern.LITERAL, name)


def group(name: str) -> Resource:
    return Resource(ResourceType.GROUP, Pattern.LITERAL, name)


def cluster(name: str) -> Resource:
    return Resource(ResourceType.CLUSTER, Pattern.LITERAL, name)


def parse_resource(text: str | None) -> Resource | None:
    """The resource that a policy names; None when it names none."""
    if not text or not text.strip():
        return None
    if text == "*":
        return ANYTHING
    word, _, name = text.partition(":")
    type_ = by_word(ResourceType, word)
    if type_ is None:
        return None
    if name == "*":
        return Resource(type_)
    if name.endswith("*"):
        return Resource(type_, Pattern.PREFIXED, name[: name.index("*")])
    return Resource(type_, Pattern.LITERAL, name)


def by_word(words: type[E], word: str | None) -> E | None:
    """The member of that name in any case, as RocketMQ reads its words; None for another word."""
    return words.__members__.get((word or "").upper())
