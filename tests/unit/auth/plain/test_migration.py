from __future__ import annotations

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


@pytest.mark.parametrize("account", [None, "text", ["accessKey"]])
def test_an_account_that_is_no_map_is_told(account: object) -> None:
    with pytest.raises(ConfigError, match="an account is no map"):
        migrate([{"accounts": [account]}], AccountStore())
