"""Decisions against a plain model of the rule, and RocketMQ's own rows with every name, address and order changed."""

from __future__ import annotations

import random
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.hypothesis_examples import examples
from tests.unit.auth.golden import GOLDEN, accounts, entry

from sprocketmq.auth.account_realm import AccountRealm
from sprocketmq.auth.authorization.policies import Acl, Policy, PolicyType
from sprocketmq.auth.authorization.requirements import Need
from sprocketmq.auth.authorization.resources import Action, ResourceType, parse_resource

Tree = dict[str, Any]

# -- the rule, as it is documented ------------------------------------------------------------------------------------


def rank(resource: str, type_: str, name: str) -> int | None:
    """How near a resource comes to a name: the name itself, then the longest prefix, any of its type, anything."""
    if resource == "*":
        return -2
    of_type, _, pattern = resource.partition(":")
    if of_type != type_:
        return None
    if pattern == "*":
        return -1
    if pattern.endswith("*"):
        return len(pattern) - 1 if name.startswith(pattern[:-1]) else None
    return 1000 if pattern == name else None


def speaks(tree: Tree, action: str, address: str) -> bool:
    if action not in tree["actions"] and "All" not in tree["actions"]:
        return False
    return not tree["sourceIps"] or any(ip_address(address) in ip_network(each) for each in tree["sourceIps"])


def model(policies: Mapping[PolicyType, list[Tree]], type_: str, name: str, action: str, address: str) -> bool:
    for policy in (PolicyType.CUSTOM, PolicyType.DEFAULT):
        about = [(rank(tree["resource"], type_, name), tree) for tree in policies.get(policy, ())]
        ranked = [(near, tree) for near, tree in about if near is not None and speaks(tree, action, address)]
        if ranked:
            nearest = max(near for near, _ in ranked)
            return all(tree["decision"] == "Allow" for near, tree in ranked if near == nearest)
    return False


TYPES = st.sampled_from(["Topic", "Group", "Cluster"])
ACTIONS = ["Pub", "Sub", "Create", "Update", "Delete", "Get", "List"]
#: Few letters and short, so that names are prefixes of each other.
NAMES = st.text("ab-", min_size=1, max_size=4)
ADDRESSES = st.sampled_from(["10.0.0.1", "10.0.0.2", "10.0.1.1", "11.0.0.1", "2001:db8::1"])
BLOCKS = st.sampled_from(["10.0.0.1", "10.0.0.0/24", "10.0.0.0/8", "2001:db8::/32", "11.0.0.0/31"])
RESOURCES = st.one_of(
    st.just("*"),
    st.builds("{}:{}{}".format, TYPES, NAMES, st.sampled_from(["", "*"])),
    st.builds("{}:*".format, TYPES),
)
ENTRIES = st.lists(
    st.fixed_dictionaries(
        {
            "resource": RESOURCES,
            "actions": st.lists(st.sampled_from([*ACTIONS, "All"]), min_size=1, max_size=3, unique=True),
            "sourceIps": st.lists(BLOCKS, max_size=2),
            "decision": st.sampled_from(["Allow", "Deny"]),
        }
    ),
    max_size=12,
)


@settings(max_examples=examples(300))
@given(custom=ENTRIES, default=ENTRIES, type_=TYPES, name=NAMES, action=st.sampled_from(ACTIONS), address=ADDRESSES)
def test_the_most_specific_entry_decides_and_then_a_deny(
    custom: list[Tree], default: list[Tree], type_: str, name: str, action: str, address: str
) -> None:
    policies = {PolicyType.CUSTOM: custom, PolicyType.DEFAULT: default}
    acl = Acl("u", {which: Policy(map(entry, trees)) for which, trees in policies.items() if trees})
    verdict = acl.decide(ResourceType[type_.upper()], name, (Action[action.upper()],), address)
    assert verdict.allowed is model(policies, type_, name, action, address)


# -- RocketMQ's rows, changed in ways that cannot matter ---------------------------------------------------------------

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_TYPES = ["Topic", "Group", "Cluster"]


class Change:
    """Each letter for another, each kind of resource, each action; each address moved; entries in another order.

    Whatever was a prefix, a block or the same stays one.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._letters = str.maketrans(_LETTERS, self._mixed(_LETTERS))
        self._types = dict(zip(_TYPES, self._random.sample(_TYPES, len(_TYPES)), strict=True))
        self._actions = dict(zip(ACTIONS, self._random.sample(ACTIONS, len(ACTIONS)), strict=True))
        self._bits = self._random.getrandbits(32)

    def _mixed(self, letters: str) -> str:
        return "".join(self._random.sample(letters, len(letters)))

    def name(self, text: str) -> str:
        return text.translate(self._letters)

    def resource(self, text: str) -> str:
        type_, colon, name = text.partition(":")
        return f"{self._types.get(type_, type_)}{colon}{self.name(name)}"

    def action(self, word: str) -> str:
        return self._actions.get(word, word)

    def address(self, text: str) -> str:
        host, slash, bits = text.partition("/")
        if ":" in host:
            return text
        return f"{ip_address(int(ip_address(host)) ^ self._bits)}{slash}{bits}"

    def entry(self, tree: Tree) -> Tree:
        return {
            "resource": self.resource(tree["resource"]),
            "actions": [self.action(word) for word in tree["actions"]],
            "sourceIps": [self.address(block) for block in tree["sourceIps"] or ()],
            "decision": tree["decision"],
        }

    def acl(self, tree: Tree) -> Tree:
        policies = [
            {
                **policy,
                "entries": [
                    self.entry(each) for each in self._random.sample(policy["entries"], len(policy["entries"]))
                ],
            }
            for policy in tree["policies"]
        ]
        return {"subject": f"User:{self.name(tree['subject'].removeprefix('User:'))}", "policies": policies}


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 2**32))
@example(0)
def test_rocketmq_s_decisions_under_other_names(seed: int) -> None:
    change = Change(seed)
    users = [{**user, "username": change.name(user["username"])} for user in GOLDEN["users"]]
    made = accounts(users, [change.acl(acl) for acl in GOLDEN["acls"]])
    for row in GOLDEN["policyDecisions"]:
        user, resource = made.find(change.name(row["username"])), parse_resource(change.resource(row["resource"]))
        assert user is not None
        assert resource is not None
        actions = tuple(Action[change.action(word).upper()] for word in row["actions"])
        need = Need(resource.type, resource.name or "", actions)
        verdict = AccountRealm(made).verdict(user, need, change.address(row["sourceIp"]))
        assert (user.is_super or verdict.allowed) is row["documented"], (row, verdict)
