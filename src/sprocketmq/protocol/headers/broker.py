"""A broker's own configuration and statistics."""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.fields import wire


@dataclass(frozen=True, slots=True, kw_only=True)
class GetBrokerConfigResponseHeader:
    """Answers 26 GET_BROKER_CONFIG."""

    version: str = wire("version")


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewBrokerStatsDataRequestHeader:
    """315 VIEW_BROKER_STATS_DATA."""

    stats_name: str = wire("statsName")
    stats_key: str = wire("statsKey")
