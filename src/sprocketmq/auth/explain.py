"""Why a user may do something, or not, in a sentence: for `sprocket acl test`."""

from __future__ import annotations

from sprocketmq.auth.authorization import addresses
from sprocketmq.auth.authorization.policies import Acl
from sprocketmq.auth.authorization.resources import Action, Pattern, by_word, parse_resource
from sprocketmq.auth.bodies import policies_of
from sprocketmq.errors import ConfigError
from sprocketmq.protocol.bodies.acl import AclInfo, UserInfo


def explain(user: UserInfo | None, info: AclInfo | None, action: str, resource: str, address: str) -> tuple[bool, str]:
    """Whether, and why; ConfigError when the question makes no sense."""
    wanted, named = by_word(Action, action), parse_resource(resource)
    if wanted is None:
        known = ", ".join(each.word for each in Action if each not in (Action.ANY, Action.UNKNOWN))
        raise ConfigError(f"{action!r} is no action: {known}")
    if named is None or named.pattern is not Pattern.LITERAL:
        raise ConfigError(f"{resource!r} is no resource such as Topic:orders")
    if "/" in address or not addresses.is_valid(address):
        raise ConfigError(f"{address!r} is no address that a request may come from")
    if user is None:
        return False, "there is no such user"
    if user.user_status == "disable":
        return False, "the user is disabled"
    if user.user_type == "Super":
        return True, "a super user may do everything"
    acl = Acl(user.username)
    for type_, entries in policies_of(info or AclInfo()).items():
        acl = acl.with_entries(type_, entries)
    verdict = acl.decide(named.type, named.name or "", (wanted,), address)
    if verdict.entry is None or verdict.policy is None:
        return False, "no policy speaks of it"
    return verdict.allowed, f"its {verdict.policy.word.lower()} policy says: {verdict.entry}"
