from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from sprocketmq.auth.account_realm import AccountRealm
from sprocketmq.auth.authorization.policies import Acl, Policy, PolicyEntry, PolicyType
from sprocketmq.auth.authorization.requirements import Need
from sprocketmq.auth.authorization.resources import Action, Decision, Resource, ResourceType, parse_resource
from sprocketmq.protocol.names import RESTING_TOPICS

from ..golden import GOLDEN, accounts

ACCOUNTS = accounts(GOLDEN["users"], GOLDEN["acls"])


def allows(text: str) -> PolicyEntry:
    resource = parse_resource(text)
    assert resource is not None
    return PolicyEntry(resource, (Action.PUB,), Decision.ALLOW)


@pytest.mark.parametrize("row", GOLDEN["policyDecisions"])
def test_the_documented_decision(row: dict[str, Any]) -> None:
    """Where RocketMQ's sort decides otherwise than its documents say, the documents hold."""
    user, resource = ACCOUNTS.find(row["username"]), parse_resource(row["resource"])
    assert user is not None
    assert resource is not None
    actions = tuple(Action[word.upper()] for word in row["actions"])
    need = Need(resource.type, resource.name or "", actions)
    verdict = AccountRealm(ACCOUNTS).verdict(user, need, row["sourceIp"])
    assert (user.is_super or verdict.allowed) is row["documented"]
    if row["error"] and not row.get("quirk") and "cause" not in row:  # a sort that found itself contradicted
        assert row["error"].endswith(f", {verdict.reason}.")
    assert row.get("quirk", False) or row["allowed"] == row["documented"]


def test_the_order_of_entries_is_no_matter() -> None:
    deny = PolicyEntry(Resource(ResourceType.TOPIC), (Action.ALL,), Decision.DENY)
    for entries in ([allows("Topic:orders"), deny], [deny, allows("Topic:orders")]):
        policy = Policy(entries)
        found = policy.find(ResourceType.TOPIC, "orders", (Action.PUB,), "10.0.0.1")
        assert found is not None
        assert found.decision is Decision.ALLOW
        other = policy.find(ResourceType.TOPIC, "other", (Action.PUB,), "10.0.0.1")
        assert other is deny


@pytest.mark.parametrize("topic", sorted(RESTING_TOPICS))
def test_what_rests_is_read_by_whom_a_policy_names_the_topic_for(topic: str) -> None:
    """It is of all other topics, those that are denied too."""

    def may(action: Action, *texts: str) -> bool:
        entries = [replace(allows(text), actions=(Action.ALL,)) for text in texts]
        return (
            Acl("u", {PolicyType.CUSTOM: Policy(entries)}).decide(ResourceType.TOPIC, topic, (action,), "::1").allowed
        )

    assert not may(Action.SUB, "*", "Topic:*")
    assert may(Action.GET, "Topic:*")
    assert may(Action.SUB, f"Topic:{topic}")
    assert may(Action.SUB, f"Topic:{topic[:4]}*")


def test_ten_thousand_entries_decide_in_less_than_a_millisecond() -> None:
    entries = [allows(f"Topic:team{n}-{'x' * (n % 60)}*") for n in range(5000)]
    entries += [allows(f"Topic:orders{n}") for n in range(5000)]
    acl = Acl("many", {PolicyType.CUSTOM: Policy(entries)})
    names = [*(f"orders{n}" for n in range(0, 5000, 50)), *(f"team{n}-{'x' * 90}" for n in range(0, 5000, 50)), "none"]
    began = time.process_time()
    for name in names:
        acl.decide(ResourceType.TOPIC, name, (Action.PUB,), "10.0.0.1")
    assert (time.process_time() - began) / len(names) < 0.001
    assert acl.decide(ResourceType.TOPIC, "team7-xxxxxxxy", (Action.PUB,), "10.0.0.1").allowed
    assert not acl.decide(ResourceType.TOPIC, "team7", (Action.PUB,), "10.0.0.1").allowed
