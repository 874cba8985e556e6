"""What RocketMQ 4.9.8 makes of an account."""

from __future__ import annotations

import pytest
import yaml

from sprocketmq.auth.authorization.resources import ResourceType
from sprocketmq.auth.plain.account import Permission, PlainAccount, Rights
from sprocketmq.errors import ConfigError


def account(text: str) -> PlainAccount:
    return PlainAccount.of(yaml.safe_load(f"{{accessKey: account1, secretKey: secret12, {text}}}"))


def rights(text: str) -> Rights:
    return account(text).rights()


@pytest.mark.parametrize("word", ["true", "yes", "on", "'TRUE'", "1", "1.0", "'1'", "Y", "'y'", "T"])
def test_words_for_an_admin(word: str) -> None:
    assert account(f"admin: {word}").admin


@pytest.mark.parametrize(
    "word", ["false", "no", "~", "0", "2", "-1", ".nan", "''", "'null'", "'0'", "'False'", "F", "'f'", "N"]
)
def test_words_for_no_admin(word: str) -> None:
    assert not account(f"admin: {word}").admin


@pytest.mark.parametrize("word", ["maybe", "'yes'", "'on'", "'t'", "'n'", "'2'", "' true'"])
def test_words_for_neither(word: str) -> None:
    with pytest.raises(ConfigError, match="neither true nor false"):
        account(f"admin: {word}")


def test_a_group_that_is_named_twice_is_what_stands_among_the_topics() -> None:
    found = rights("topicPerms: ['%RETRY%g=SUB'], groupPerms: [g=DENY, h=PUB]")
    assert found.permission(ResourceType.GROUP, "g") is Permission.SUB
    assert found.permission(ResourceType.GROUP, "h") is Permission.PUB


def test_a_retry_topic_among_the_groups_is_no_group() -> None:
    found = rights("groupPerms: [g=DENY, '%RETRY%g=SUB']")
    assert found.permission(ResourceType.GROUP, "g") is Permission.DENY


def test_keys_are_as_long_as_in_java() -> None:
    assert PlainAccount("\U0001f600short", "\U0001f600short").rights()
    with pytest.raises(ConfigError, match="longer than 6"):
        PlainAccount("\U0001f600shor", "secret12").rights()
