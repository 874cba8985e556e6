"""Replication between the brokers of one name."""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.fields import Long, wire


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochEntry:
    epoch: int = wire("epoch", default=0)
    start_offset: Long = wire("startOffset", default=0)
    end_offset: Long = wire("endOffset", default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochEntryCache:
    cluster_name: str = wire("clusterName", default="")
    broker_name: str = wire("brokerName", default="")
    broker_id: Long = wire("brokerId", default=0)
    epoch_list: tuple[EpochEntry, ...] = wire("epochList", default=())
    max_offset: Long = wire("maxOffset", default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class HAConnectionRuntimeInfo:
    addr: str = wire("addr", default="")
    slave_ack_offset: Long = wire("slaveAckOffset", default=0)
    diff: Long = wire("diff", default=0)
    in_sync: bool = wire("inSync", default=False)
    transferred_byte_in_second: Long = wire("transferredByteInSecond", default=0)
    transfer_from_where: Long = wire("transferFromWhere", default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class HAClientRuntimeInfo:
    master_addr: str | None = wire("masterAddr", default=None)
    transferred_byte_in_second: Long = wire("transferredByteInSecond", default=0)
    max_offset: Long = wire("maxOffset", default=0)
    last_read_timestamp: Long = wire("lastReadTimestamp", default=0)
    last_write_timestamp: Long = wire("lastWriteTimestamp", default=0)
    master_flush_offset: Long = wire("masterFlushOffset", default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class HARuntimeInfo:
    master: bool = wire("master", default=False)
    master_commit_log_max_offset: Long = wire("masterCommitLogMaxOffset", default=0)
    in_sync_slave_nums: int = wire("inSyncSlaveNums", default=0)
    ha_connection_info: tuple[HAConnectionRuntimeInfo, ...] = wire("haConnectionInfo", default=())
    ha_client_runtime_info: HAClientRuntimeInfo = wire("haClientRuntimeInfo", default_factory=HAClientRuntimeInfo)
