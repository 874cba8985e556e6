"""The controller that elects masters."""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.fields import Long, wire


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterSyncStateSetRequestHeader:
    """1001 CONTROLLER_ALTER_SYNC_STATE_SET."""

    broker_name: str | None = wire("brokerName", default=None)
    master_broker_id: Long | None = wire("masterBrokerId", default=None)
    master_epoch: int | None = wire("masterEpoch", default=None)
    invoke_time: Long = wire("invokeTime", default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterSyncStateSetResponseHeader:
    """Answers 1001 CONTROLLER_ALTER_SYNC_STATE_SET."""

    new_sync_state_set_epoch: int = wire("newSyncStateSetEpoch", default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectMasterRequestHeader:
    """1002 CONTROLLER_ELECT_MASTER."""

    cluster_name: str = wire("clusterName")
    broker_name: str = wire("brokerName")
    broker_id: Long = wire("brokerId")
    designate_elect: bool = wire("designateElect")
    invoke_time: Long | None = wire("invokeTime", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectMasterResponseHeader:
    """Answers 1002 CONTROLLER_ELECT_MASTER."""

    master_broker_id: Long | None = wire("masterBrokerId", default=None)
    master_address: str | None = wire("masterAddress", default=None)
    master_epoch: int | None = wire("masterEpoch", default=None)
    sync_state_set_epoch: int | None = wire("syncStateSetEpoch", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerToControllerRequestHeader:
    """1003 CONTROLLER_REGISTER_BROKER."""

    cluster_name: str | None = wire("clusterName", default=None)
    broker_name: str | None = wire("brokerName", default=None)
    broker_id: Long | None = wire("brokerId", default=None)
    broker_address: str | None = wire("brokerAddress", default=None)
    invoke_time: Long = wire("invokeTime", default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerToControllerResponseHeader:
    """Answers 1003 CONTROLLER_REGISTER_BROKER."""

    cluster_name: str | None = wire("clusterName", default=None)
    broker_name: str | None = wire("brokerName", default=None)
    master_broker_id: Long | None = wire("masterBrokerId", default=None)
    master_address: str | None = wire("masterAddress", default=None)
    master_epoch: int | None = wire("masterEpoch", default=None)
    sync_state_set_epoch: int | None = wire("syncStateSetEpoch", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GetReplicaInfoRequestHeader:
    """1004 CONTROLLER_GET_REPLICA_INFO."""

    broker_name: str | None = wire("brokerName", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GetReplicaInfoResponseHeader:
    """Answers 1004 CONTROLLER_GET_REPLICA_INFO."""

    master_broker_id: Long | None = wire("masterBrokerId", default=None)
    master_address: str | None = wire("masterAddress", default=None)
    master_epoch: int | None = wire("masterEpoch", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GetMetaDataResponseHeader:
    """Answers 1005 CONTROLLER_GET_METADATA_INFO."""

    group: str | None = wire("group", default=None)
    controller_leader_id: str | None = wire("controllerLeaderId", default=None)
    controller_leader_address: str | None = wire("controllerLeaderAddress", default=None)
    is_leader: bool = wire("isLeader", default=False)
    peers: str | None = wire("peers", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanControllerBrokerDataRequestHeader:
    """1011 CLEAN_BROKER_DATA."""

    cluster_name: str | None = wire("clusterName", default=None)
    broker_name: str = wire("brokerName")
    broker_controller_ids_to_clean: str | None = wire("brokerControllerIdsToClean", default=None)
    is_clean_living_broker: bool = wire("isCleanLivingBroker", default=False)
    invoke_time: Long = wire("invokeTime", default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class GetNextBrokerIdRequestHeader:
    """1012 CONTROLLER_GET_NEXT_BROKER_ID."""

    cluster_name: str | None = wire("clusterName", default=None)
    broker_name: str | None = wire("brokerName", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GetNextBrokerIdResponseHeader:
    """Answers 1012 CONTROLLER_GET_NEXT_BROKER_ID."""

    cluster_name: str | None = wire("clusterName", default=None)
    broker_name: str | None = wire("brokerName", default=None)
    next_broker_id: Long | None = wire("nextBrokerId", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyBrokerIdRequestHeader:
    """1013 CONTROLLER_APPLY_BROKER_ID."""

    cluster_name: str | None = wire("clusterName", default=None)
    broker_name: str | None = wire("brokerName", default=None)
    applied_broker_id: Long | None = wire("appliedBrokerId", default=None)
    register_check_code: str | None = wire("registerCheckCode", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyBrokerIdResponseHeader:
    """Answers 1013 CONTROLLER_APPLY_BROKER_ID."""

    cluster_name: str | None = wire("clusterName", default=None)
    broker_name: str | None = wire("brokerName", default=None)
