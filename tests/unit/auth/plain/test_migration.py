from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from sprocketmq.auth.accounts import AccountStore
from sprocketmq.auth.bodies import acl_info, user_info
from sprocketmq.auth.plain.migration import migrate
from sprocketmq.errors import ConfigError
from sprocketmq.protocol.bodies import codec

from ..golden import GOLDEN


def without_nulls(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: without_nulls(value) for key, value in tree.items() if value is not None}
    return [without_nulls(each) for each in tree] if isinstance(tree, list) else tree


@pytest.mark.parametrize("row", GOLDEN["migration"])
def test_accounts_become_users(row: dict[str, Any]) -> None:
    accounts = AccountStore()
    trees = [yaml.safe_load(row["conf"])]
    migrate(trees, accounts)
    assert [codec.to_tree(user_info(u, with_password=True)) for u in accounts.list_users()] == row["users"]
    assert [codec.to_tree(acl_info(acl)) for acl in accounts.list_acls()] == without_nulls(row["acls"])
    assert migrate(trees, accounts) == 0


def migrated(*more: Mapping[str, object]) -> list[str]:
    """The entries of the one user that becomes of these."""
    accounts = AccountStore()
    migrate([{"accounts": [{"accessKey": "account1", "secretKey": "secret12", **each} for each in more]}], accounts)
    return [str(entry) for acl in accounts.list_acls() for policy in acl.policies.values() for entry in policy.entries]


@pytest.mark.parametrize(
    ("word", "entry"),
    [
        ("DENY ", "Deny All on Topic:*"),
        (" SUB ", "Allow Sub on Topic:*"),
        ("PUB|SUB", "Allow Pub,Sub on Topic:*"),
        ("pub", "Allow All on Topic:*"),
    ],
)
def test_blanks_around_a_permission_do_not_count(word: str, entry: str) -> None:
    assert migrated({"defaultTopicPerm": word}) == [entry]


@pytest.mark.parametrize(
    ("perm", "entries"),
    [
        ("t=", []),
        ("=PUB", []),
        ("t=PUB=SUB", []),
        ("t= ", ["Deny All on Topic:t"]),
        ("t==PUB", ["Allow Pub on Topic:t"]),
        (" t = DENY ", ["Deny All on Topic:t"]),
    ],
)
def test_an_entry_is_parted_as_java_parts_it(perm: str, entries: list[str]) -> None:
    """Without a permission it gives none; it must not become everything."""
    assert migrated({"topicPerms": [perm]}) == entries


def test_of_an_access_key_the_first_account_counts() -> None:
    wide = {"topicPerms": ["t=PUB|SUB"]}
    assert migrated({"topicPerms": ["t=SUB"]}, wide) == ["Allow Sub on Topic:t"]
    assert migrated({"secretKey": None}, wide) == []


@pytest.mark.parametrize("account", [None, "text", ["accessKey"]])
def test_an_account_that_is_no_map_is_told(account: object) -> None:
    with pytest.raises(ConfigError, match="an account is no map"):
        migrate([{"accounts": [account]}], AccountStore())
