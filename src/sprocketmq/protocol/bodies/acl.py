"""Users and access policies."""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.fields import wire


@dataclass(frozen=True, slots=True, kw_only=True)
class UserInfo:
    username: str = wire("username", default="")
    password: str | None = wire("password", default=None)
    user_type: str | None = wire("userType", default=None)
    user_status: str | None = wire("userStatus", default=None)
    strict: bool | None = wire("strict", default=None)  # ours: its requests carry a signed time, number and code


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyEntryInfo:
    resource: str = wire("resource", default="")
    actions: tuple[str, ...] = wire("actions", default=())
    source_ips: tuple[str, ...] = wire("sourceIps", default=(), omit_empty=True)
    decision: str = wire("decision", default="")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyInfo:
    policy_type: str = wire("policyType", default="")
    entries: tuple[PolicyEntryInfo, ...] = wire("entries", default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class AclInfo:
    subject: str = wire("subject", default="")
    policies: tuple[PolicyInfo, ...] = wire("policies", default=())
