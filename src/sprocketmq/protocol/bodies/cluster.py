"""Which brokers there are, as a nameserver tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sprocketmq.protocol.bodies.route import BrokerData
from sprocketmq.protocol.fields import Long, wire


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterInfo:
    broker_addr_table: Mapping[str, BrokerData] = wire("brokerAddrTable", default_factory=dict)
    cluster_addr_table: Mapping[str, frozenset[str]] = wire("clusterAddrTable", default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerMemberGroup:
    cluster: str = wire("cluster", default="")
    broker_name: str = wire("brokerName", default="")
    broker_addrs: Mapping[Long, str] = wire("brokerAddrs", default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GetBrokerMemberGroupResponseBody:
    broker_member_group: BrokerMemberGroup | None = wire("brokerMemberGroup", default=None)
