"""A user: its name, its secret, and what kind it is.

The secret itself is kept, for a signature is checked by signing again. It never leaves a server but to a super user
who asks for it over a connection that nobody can listen to; `repr` and logs do not have it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum


class UserType(IntEnum):
    """The numbers are RocketMQ's on disk."""

    SUPER = 1
    NORMAL = 2

    @property
    def word(self) -> str:
        return self.name.capitalize()


class UserStatus(IntEnum):
    ENABLE = 1
    DISABLE = 2

    @property
    def word(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class User:
    """`strict`: its requests must carry a signed time, number and code (see `replays`); ours, not RocketMQ's."""

    name: str
    password: str = field(repr=False)
    type: UserType = UserType.NORMAL
    status: UserStatus = UserStatus.ENABLE
    strict: bool = False

    @property
    def is_super(self) -> bool:
        return self.type is UserType.SUPER

    @property
    def is_enabled(self) -> bool:
        return self.status is UserStatus.ENABLE

    @property
    def subject(self) -> str:
        return f"User:{self.name}"
