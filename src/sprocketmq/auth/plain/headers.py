"""Headers of RocketMQ 4 that 5.3.3 no longer has."""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.fields import wire


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateAccessConfigRequestHeader:
    """50 UPDATE_AND_CREATE_ACL_CONFIG. Lists are joined by commas."""

    access_key: str = wire("accessKey")
    secret_key: str | None = wire("secretKey", default=None)
    white_remote_address: str | None = wire("whiteRemoteAddress", default=None)
    admin: bool = wire("admin", default=False)
    default_topic_perm: str | None = wire("defaultTopicPerm", default=None)
    default_group_perm: str | None = wire("defaultGroupPerm", default=None)
    topic_perms: str | None = wire("topicPerms", default=None)
    group_perms: str | None = wire("groupPerms", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteAccessConfigRequestHeader:
    """51 DELETE_ACL_CONFIG."""

    access_key: str = wire("accessKey")


@dataclass(frozen=True, slots=True, kw_only=True)
class GetBrokerAclConfigResponseHeader:
    """Answers 52 GET_BROKER_CLUSTER_ACL_INFO. Versions are JSON."""

    version: str = wire("version")
    all_acl_file_version: str | None = wire("allAclFileVersion", default=None)
    broker_name: str = wire("brokerName")
    broker_addr: str = wire("brokerAddr")
    cluster_name: str = wire("clusterName")


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateGlobalWhiteAddrsConfigRequestHeader:
    """53 UPDATE_GLOBAL_WHITE_ADDRS_CONFIG."""

    global_white_addrs: str = wire("globalWhiteAddrs")
    acl_file_full_path: str | None = wire("aclFileFullPath", default=None)
