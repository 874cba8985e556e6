"""A broker's own configuration and statistics, and brokers inside a container."""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.fields import Long, wire


@dataclass(frozen=True, slots=True, kw_only=True)
class GetBrokerConfigResponseHeader:
    """Answers 26 GET_BROKER_CONFIG."""

    version: str = wire("version")


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewBrokerStatsDataRequestHeader:
    """315 VIEW_BROKER_STATS_DATA."""

    stats_name: str = wire("statsName")
    stats_key: str = wire("statsKey")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRocksDBConfigToJsonRequestHeader:
    """355 EXPORT_ROCKSDB_CONFIG_TO_JSON."""

    config_type: str = wire("configType")


@dataclass(frozen=True, slots=True, kw_only=True)
class AddBrokerRequestHeader:
    """902 ADD_BROKER."""

    config_path: str | None = wire("configPath", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveBrokerRequestHeader:
    """903 REMOVE_BROKER."""

    broker_name: str = wire("brokerName")
    broker_cluster_name: str = wire("brokerClusterName")
    broker_id: Long = wire("brokerId")
