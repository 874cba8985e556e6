"""Replication between the brokers of one name."""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.fields import Long, wire


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeHAInfoRequestHeader:
    """906 EXCHANGE_BROKER_HA_INFO."""

    master_ha_address: str | None = wire("masterHaAddress", default=None)
    master_flush_offset: Long | None = wire("masterFlushOffset", default=None)
    master_address: str | None = wire("masterAddress", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeHAInfoResponseHeader:
    """Answers 906 EXCHANGE_BROKER_HA_INFO."""

    master_ha_address: str | None = wire("masterHaAddress", default=None)
    master_flush_offset: Long | None = wire("masterFlushOffset", default=None)
    master_address: str | None = wire("masterAddress", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetMasterFlushOffsetHeader:
    """908 RESET_MASTER_FLUSH_OFFSET."""

    master_flush_offset: Long = wire("masterFlushOffset")


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyMinBrokerIdChangeRequestHeader:
    """905 NOTIFY_MIN_BROKER_ID_CHANGE."""

    min_broker_id: Long | None = wire("minBrokerId", default=None)
    broker_name: str | None = wire("brokerName", default=None)
    min_broker_addr: str | None = wire("minBrokerAddr", default=None)
    offline_broker_addr: str | None = wire("offlineBrokerAddr", default=None)
    ha_broker_addr: str | None = wire("haBrokerAddr", default=None)
