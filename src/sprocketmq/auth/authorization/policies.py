"""Policies of one user, and the decision that follows from them.

An Acl has up to two policies, Custom and Default, each a list of entries. Of the entries that speak of a resource and
an action, asked from an address, the most specific decides, and of equally specific ones a Deny; entries of Default
count when no entry of Custom speaks. That is what RocketMQ documents. Its comparator contradicts itself, so that there
the order of the list decides (`Deny Topic:orders` before `Allow Topic:*` allows orders); here it never does.

What rests in a topic of the broker's own (delayed, timed, half messages) is of all other topics, those that are denied
too. So `Topic:*` and `*` do not speak of who may read there: an entry must name the topic.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum

from sprocketmq.auth.authorization import addresses
from sprocketmq.auth.authorization.resources import Action, Decision, Pattern, Resource, ResourceType
from sprocketmq.protocol.names import RESTING_TOPICS


class PolicyType(IntEnum):
    CUSTOM = 1
    DEFAULT = 2

    @property
    def word(self) -> str:
        return self.name.capitalize()


@dataclass(frozen=True, slots=True)
class PolicyEntry:
    """`source_ips` is empty for everywhere."""

    resource: Resource
    actions: tuple[Action, ...]
    decision: Decision
    source_ips: tuple[str, ...] = ()

    def speaks_of(self, actions: tuple[Action, ...], address: str) -> bool:
        """Whether it is about any of `actions`; whoever asks for `Any` means whatever there is."""
        if not any(action in self.actions for action in (Action.ALL, *actions)) and Action.ANY not in actions:
            return False
        return not self.source_ips or any(addresses.covers(pattern, address) for pattern in self.source_ips)

    def __str__(self) -> str:
        words = ",".join(action.word for action in self.actions)
        source = f" from {','.join(self.source_ips)}" if self.source_ips else ""
        return f"{self.decision.word} {words} on {self.resource}{source}"


class Policy:
    """The entries of one type, with a way to those that cover a name that does not look at all of them."""

    def __init__(self, entries: Iterable[PolicyEntry] = ()) -> None:
        self.entries = tuple(entries)
        self._by_name: dict[tuple[ResourceType, Pattern, str], list[PolicyEntry]] = {}
        self._prefix_lengths: dict[ResourceType, list[int]] = {}
        for entry in self.entries:
            self._by_name.setdefault(_place(entry.resource), []).append(entry)
        for type_, pattern, name in self._by_name:
            if pattern is Pattern.PREFIXED:
                self._prefix_lengths.setdefault(type_, []).append(len(name))
        for type_, lengths in self._prefix_lengths.items():
            self._prefix_lengths[type_] = sorted(set(lengths), reverse=True)

    def find(self, type_: ResourceType, name: str, actions: tuple[Action, ...], address: str) -> PolicyEntry | None:
        """The entry that decides; None when none speaks."""
        for place in self._places(type_, name, reads_resting(type_, name, actions)):
            speaking = [e for e in self._by_name.get(place, ()) if e.speaks_of(actions, address)]
            if speaking:
                return next((entry for entry in speaking if entry.decision is Decision.DENY), speaking[0])
        return None

    def _places(
        self, type_: ResourceType, name: str, must_be_named: bool
    ) -> Iterable[tuple[ResourceType, Pattern, str]]:
        """Where entries are that cover the name, the most specific first."""
        if type_ is not ResourceType.UNKNOWN:
            yield type_, Pattern.LITERAL, name
            for length in self._prefix_lengths.get(type_, ()):
                if length <= len(name):
                    yield type_, Pattern.PREFIXED, name[:length]
        if must_be_named:
            return
        if type_ is not ResourceType.UNKNOWN:
            yield type_, Pattern.ANY, ""
        yield ResourceType.ANY, Pattern.ANY, ""


def reads_resting(type_: ResourceType, name: str, actions: tuple[Action, ...]) -> bool:
    """Whether this is to read what rests there of other topics."""
    return type_ is ResourceType.TOPIC and name in RESTING_TOPICS and Action.SUB in actions


def _place(resource: Resource) -> tuple[ResourceType, Pattern, str]:
    if resource.type is ResourceType.ANY:
        return ResourceType.ANY, Pattern.ANY, ""  # whatever its name, it covers everything
    return resource.type, resource.pattern, resource.name or ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`entry` decided; None when none spoke, and then nothing is allowed."""

    entry: PolicyEntry | None = None
    policy: PolicyType | None = None

    @property
    def allowed(self) -> bool:
        return self.entry is not None and self.entry.decision is Decision.ALLOW

    @property
    def reason(self) -> str:
        return "no matched policies" if self.entry is None else f"the decision is {self.entry.decision.name.lower()}"


@dataclass(frozen=True, slots=True)
class Acl:
    """The policies of one user."""

    username: str
    policies: dict[PolicyType, Policy] = field(default_factory=dict)

    def decide(self, type_: ResourceType, name: str, actions: tuple[Action, ...], address: str) -> Verdict:
        for policy_type in (PolicyType.CUSTOM, PolicyType.DEFAULT):
            if (policy := self.policies.get(policy_type)) is not None:
                entry = policy.find(type_, name, actions, address)
                if entry is not None:
                    return Verdict(entry, policy_type)
        return Verdict()

    def with_entries(self, policy_type: PolicyType, entries: Iterable[PolicyEntry]) -> Acl:
        """With these entries put: one for a resource that has one already takes its place."""
        old = self.policies.get(policy_type)
        if old is None:
            return Acl(self.username, {**self.policies, policy_type: Policy(entries)})
        kept = list(old.entries)
        for entry in entries:
            at = next((i for i, other in enumerate(kept) if other.resource == entry.resource), None)
            if at is None:
                kept.append(entry)
            else:
                kept[at] = entry
        return Acl(self.username, {**self.policies, policy_type: Policy(kept)})

    def without(self, policy_type: PolicyType, resource: Resource) -> Acl:
        """Without what it says of `resource`; a policy that has nothing left is gone."""
        policies = dict(self.policies)
        if (old := policies.get(policy_type)) is not None:
            kept = [entry for entry in old.entries if entry.resource != resource]
            policies[policy_type] = Policy(kept)
            if not kept:
                del policies[policy_type]
        return Acl(self.username, policies)
