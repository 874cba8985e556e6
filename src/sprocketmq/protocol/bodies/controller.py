"""The controller's view of replicas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sprocketmq.protocol.bodies.cluster import BrokerMemberGroup
from sprocketmq.protocol.fields import Long, wire


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncStateSet:
    sync_state_set: frozenset[Long] = wire("syncStateSet", default=frozenset())
    sync_state_set_epoch: int = wire("syncStateSetEpoch", default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaIdentity:
    broker_name: str = wire("brokerName", default="")
    broker_id: Long | None = wire("brokerId", default=None)
    broker_address: str | None = wire("brokerAddress", default=None)
    alive: bool | None = wire("alive", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicasInfo:
    master_broker_id: Long | None = wire("masterBrokerId", default=None)
    master_address: str | None = wire("masterAddress", default=None)
    master_epoch: int | None = wire("masterEpoch", default=None)
    sync_state_set_epoch: int | None = wire("syncStateSetEpoch", default=None)
    in_sync_replicas: tuple[ReplicaIdentity, ...] = wire("inSyncReplicas", default=())
    not_in_sync_replicas: tuple[ReplicaIdentity, ...] = wire("notInSyncReplicas", default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerReplicasInfo:
    replicas_info_table: Mapping[str, ReplicasInfo] = wire("replicasInfoTable", default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectMasterResponseBody:
    broker_member_group: BrokerMemberGroup | None = wire("brokerMemberGroup", default=None)
    sync_state_set: frozenset[Long] = wire("syncStateSet", default=frozenset())
