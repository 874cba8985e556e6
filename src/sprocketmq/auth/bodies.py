"""Users and policies as they travel: UserInfo and AclInfo, to and from what is kept."""

from __future__ import annotations

from collections.abc import Mapping

from sprocketmq.auth.accounts import entry_fault
from sprocketmq.auth.authentication.users import User
from sprocketmq.auth.authorization.policies import Acl, PolicyEntry, PolicyType
from sprocketmq.auth.authorization.resources import Action, Decision, Resource, ResourceType, by_word, parse_resource
from sprocketmq.codes import ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.bodies.acl import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo

HIDDEN = "***"


def user_info(user: User, *, with_password: bool) -> UserInfo:
    return UserInfo(
        username=user.name,
        password=user.password if with_password else HIDDEN,
        user_type=user.type.word,
        user_status=user.status.word,
        strict=user.strict or None,
    )


def acl_info(acl: Acl) -> AclInfo:
    return AclInfo(
        subject=f"User:{acl.username}",
        policies=tuple(
            PolicyInfo(policy_type=type_.word, entries=tuple(entry_info(entry) for entry in policy.entries))
            for type_, policy in acl.policies.items()
        ),
    )


def entry_info(entry: PolicyEntry) -> PolicyEntryInfo:
    return PolicyEntryInfo(
        resource=str(entry.resource),
        actions=tuple(action.word for action in entry.actions),
        source_ips=entry.source_ips,
        decision=entry.decision.word,
    )


def policies_of(info: AclInfo) -> Mapping[PolicyType, list[PolicyEntry]]:
    """RequestRefused says of an entry what RocketMQ says. A policy without a type, or of another one, is Custom."""
    policies: dict[PolicyType, list[PolicyEntry]] = {}
    for policy in info.policies:
        entries = [_entry(each) for each in policy.entries]
        if entries:
            policies.setdefault(by_word(PolicyType, policy.policy_type) or PolicyType.CUSTOM, []).extend(entries)
    return policies


def _entry(info: PolicyEntryInfo) -> PolicyEntry:
    resource, decision = parse_resource(info.resource), by_word(Decision, info.decision)
    actions = tuple(action for word in info.actions if (action := by_word(Action, word)) is not None)
    fault = entry_fault(resource, actions, info.source_ips, decision)
    if fault is not None:
        raise RequestRefused(ResponseCode.NO_PERMISSION, fault)
    return PolicyEntry(resource or Resource(ResourceType.UNKNOWN), actions, decision or Decision.DENY, info.source_ips)


def subject_name(subject: str | None) -> str | None:
    """The user of `User:NAME`, which may be empty; None when it is no user."""
    kind, _, name = (subject or "").partition(":")
    return name if kind.lower() == "user" else None
