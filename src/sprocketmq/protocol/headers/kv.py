"""The nameserver's key-value table."""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.fields import wire


@dataclass(frozen=True, slots=True, kw_only=True)
class PutKVConfigRequestHeader:
    """100 PUT_KV_CONFIG."""

    namespace: str = wire("namespace")
    key: str = wire("key")
    value: str = wire("value")


@dataclass(frozen=True, slots=True, kw_only=True)
class GetKVConfigRequestHeader:
    """101 GET_KV_CONFIG."""

    namespace: str = wire("namespace")
    key: str = wire("key")


@dataclass(frozen=True, slots=True, kw_only=True)
class GetKVConfigResponseHeader:
    """Answers 101 GET_KV_CONFIG."""

    value: str | None = wire("value", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteKVConfigRequestHeader:
    """102 DELETE_KV_CONFIG."""

    namespace: str = wire("namespace")
    key: str = wire("key")


@dataclass(frozen=True, slots=True, kw_only=True)
class GetKVListByNamespaceRequestHeader:
    """219 GET_KVLIST_BY_NAMESPACE."""

    namespace: str = wire("namespace")
