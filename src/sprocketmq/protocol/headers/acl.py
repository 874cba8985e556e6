"""Users and access policies."""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.fields import wire


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateUserRequestHeader:
    """3001 AUTH_CREATE_USER; 3002 AUTH_UPDATE_USER and 3004 AUTH_GET_USER have the same."""

    username: str | None = wire("username", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateUserRequestHeader:
    """3002 AUTH_UPDATE_USER."""

    username: str | None = wire("username", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteUserRequestHeader:
    """3003 AUTH_DELETE_USER."""

    username: str | None = wire("username", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListUsersRequestHeader:
    """3005 AUTH_LIST_USER."""

    filter: str | None = wire("filter", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateAclRequestHeader:
    """3006 AUTH_CREATE_ACL, 3007 AUTH_UPDATE_ACL."""

    subject: str | None = wire("subject", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteAclRequestHeader:
    """3008 AUTH_DELETE_ACL."""

    subject: str | None = wire("subject", default=None)
    policy_type: str | None = wire("policyType", default=None)
    resource: str | None = wire("resource", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GetAclRequestHeader:
    """3009 AUTH_GET_ACL."""

    subject: str | None = wire("subject", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAclsRequestHeader:
    """3010 AUTH_LIST_ACL."""

    subject_filter: str | None = wire("subjectFilter", default=None)
    resource_filter: str | None = wire("resourceFilter", default=None)
