"""Decisions of the real classes of RocketMQ 4.9.8 and 5.3.3; tests/data/golden/acl.json says what its rows are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sprocketmq.auth.accounts import AccountStore
from sprocketmq.auth.authentication.users import UserStatus, UserType
from sprocketmq.auth.authorization.policies import PolicyEntry, PolicyType
from sprocketmq.auth.authorization.resources import Action, Decision, by_word, parse_resource

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[2] / "data" / "golden" / "acl.json").read_text())
#: What sets the names in this file apart from those in one that another seed made.
SEED_NAME: str = GOLDEN["users"][0]["username"].removeprefix("super-")


def entry(tree: dict[str, Any]) -> PolicyEntry:
    resource, decision = parse_resource(tree["resource"]), by_word(Decision, tree["decision"])
    assert resource is not None
    assert decision is not None
    actions = tuple(Action[word.upper()] for word in tree["actions"])
    return PolicyEntry(resource, actions, decision, tuple(tree["sourceIps"] or ()))


def accounts(users: list[dict[str, Any]], acls: list[dict[str, Any]]) -> AccountStore:
    """Those of the file, in memory."""
    made = AccountStore()
    for user in users:
        made.create_user(
            user["username"],
            user["password"],
            by_word(UserType, user["userType"]),
            by_word(UserStatus, user["userStatus"]),
        )
    for acl in acls:
        policies = {
            PolicyType[policy["policyType"].upper()]: [entry(each) for each in policy["entries"]]
            for policy in acl["policies"]
        }
        made.put_acl(acl["subject"].removeprefix("User:"), policies)
    return made
