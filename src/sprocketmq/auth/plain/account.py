"""One account of RocketMQ 4, as a file has it, and what it may do.

Names are literal: there are no wildcards. A group's permission is kept under its retry topic, as RocketMQ does, so that
an entry of `topicPerms` for `%RETRY%g` is one of group g, and one of `groupPerms` for `%RETRY%g` is of no group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Flag
from typing import Any

from sprocketmq.auth.authentication.signed_fields import SigningKey
from sprocketmq.auth.authorization.resources import ResourceType
from sprocketmq.auth.plain.addresses import Matcher, parse_pattern
from sprocketmq.errors import ConfigError
from sprocketmq.protocol.names import RETRY_PREFIX
from sprocketmq.protocol.signing import utf16_units

_SHORTEST = 7
_NO_FLAG = ("", "null", "NULL")


class Permission(Flag):
    DENY = 0
    PUB = 1
    SUB = 2

    @classmethod
    def of(cls, word: object) -> Permission:
        """Another word, and none, is DENY."""
        words = {"PUB": cls.PUB, "SUB": cls.SUB, "PUB|SUB": cls.PUB | cls.SUB, "SUB|PUB": cls.PUB | cls.SUB}
        return words.get(str(word).strip(), cls.DENY) if word is not None else cls.DENY


@dataclass(frozen=True, slots=True)
class PlainAccount:
    """The texts as they stand in the file; what follows from them is worked out once."""

    access_key: str
    secret_key: str = field(repr=False)
    white_remote_address: str | None = None
    admin: bool = False
    default_topic_perm: str | None = None
    default_group_perm: str | None = None
    topic_perms: tuple[str, ...] | None = None
    group_perms: tuple[str, ...] | None = None

    @classmethod
    def of(cls, tree: object) -> PlainAccount:
        """ConfigError when it cannot be; no secret is told."""
        if not isinstance(tree, dict):
            raise ConfigError("an account is no map")
        return cls(
            access_key=access_key_of(tree),
            secret_key=_text(tree.get("secretKey")) or "",
            white_remote_address=_text(tree.get("whiteRemoteAddress")),
            admin=_flag(tree.get("admin")),
            default_topic_perm=_text(tree.get("defaultTopicPerm")),
            default_group_perm=_text(tree.get("defaultGroupPerm")),
            topic_perms=_texts(tree.get("topicPerms")),
            group_perms=_texts(tree.get("groupPerms")),
        )

    def check_keys(self) -> None:
        if min(map(_java_length, (self.access_key, self.secret_key))) < _SHORTEST:
            raise ConfigError(
                f"The accessKey={self.access_key} and secretKey=*** cannot be null and length should longer than 6"
            )

    def rights(self) -> Rights:
        self.check_keys()
        # Where both name a group, what stands among the topics counts: RocketMQ reads it last.
        named = {_group_key(name): perm for name, perm in _entries("group", self.group_perms)}
        named |= _entries("topic", self.topic_perms)
        return Rights(
            self,
            SigningKey(self.secret_key),
            parse_pattern(self.white_remote_address),
            named,
            Permission.of(self.default_topic_perm),
            Permission.of(self.default_group_perm),
        )


@dataclass(frozen=True, slots=True)
class Rights:
    account: PlainAccount
    key: SigningKey
    is_white: Matcher
    named: Mapping[str, Permission]
    default_topic: Permission
    default_group: Permission

    @property
    def may_all(self) -> bool:
        """An admin with entries is asked like everybody else, as in RocketMQ."""
        return self.account.admin and not self.named

    def permission(self, type_: ResourceType, name: str) -> Permission:
        if type_ is ResourceType.GROUP:
            return self.named.get(_group_key(name), self.default_group)
        return self.named.get(name, self.default_topic)


def access_key_of(tree: Mapping[str, Any]) -> str:
    """The access key of an account in a file; one of digits alone is a number there."""
    return _text(tree.get("accessKey")) or ""


def check_entries(perms: tuple[str, ...] | None) -> None:
    """What a change over the wire may not bring, though a file may."""
    for text in perms or ():
        parts = entry_parts(text)
        if len(parts) != 2:
            raise ConfigError(
                f"Parse Resource format error for {text}.\nThe expected resource format is 'Res=Perm'. "
                "For example: topicA=SUB"
            )
        if parts[1].strip() != "DENY" and not Permission.of(parts[1]):
            raise ConfigError(
                f"Parse resource permission error for {text}.\n"
                "The expected permissions are 'SUB' or 'PUB' or 'SUB|PUB' or 'PUB|SUB'."
            )


def _entries(kind: str, perms: tuple[str, ...] | None) -> list[tuple[str, Permission]]:
    found = []
    for text in perms or ():
        parts = entry_parts(text)
        if len(parts) != 2:
            raise ConfigError(f"Parse resource permission failed for {kind}:{text}")
        found.append((parts[0].strip(), Permission.of(parts[1])))
    return found


def entry_parts(entry: str) -> list[str]:
    """As Java splits: what is empty does not count, so that `=PUB` is no entry."""
    return [part for part in entry.split("=") if part]


def _group_key(name: str) -> str:
    return RETRY_PREFIX + name


def _text(value: object) -> str | None:
    """A scalar of YAML as Java's text of it."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        raise ConfigError("an account has a list or a map where a text belongs")
    return str(value)


def _java_length(text: str) -> int:
    """In units of UTF-16."""
    return len(utf16_units(text)) // 2


def _flag(value: object) -> bool:
    """As RocketMQ's parser reads a flag. `yes` is none of its words: where that counts, YAML has made a flag of it."""
    if isinstance(value, (bool, int, float)):
        return 1 <= value < 2
    text = _text(value)
    if text is None or text in _NO_FLAG or text.lower() in ("false", "0", "f") or text == "N":
        return False
    if text.lower() in ("true", "1", "y") or text == "T":
        return True
    raise ConfigError("admin of an account is neither true nor false")


def _texts(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise ConfigError("permissions of an account must be a list")
    return tuple(_text(each) or "" for each in value)
