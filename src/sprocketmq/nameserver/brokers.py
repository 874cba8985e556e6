"""Brokers as a nameserver knows them.

group        the brokers that share a name: one master (id 0) and its slaves, by id
live         one registered broker at one address, with the session that it registered through
registration what a broker says of itself
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.protocol.bodies.mapping import TopicConfigAndMappingSerializeWrapper
from sprocketmq.protocol.bodies.route import BrokerData

MASTER_ID = 0
DEFAULT_EXPIRY_MS = 120_000


@dataclass(slots=True, kw_only=True)
class BrokerGroup:
    cluster: str
    name: str
    addresses: dict[int, str] = field(default_factory=dict)
    zone: str | None = None
    acting_master: bool = False

    @property
    def ruler(self) -> int | None:
        """The lowest id, whose broker speaks for the group."""
        return min(self.addresses, default=None)

    def leave(self, address: str) -> None:
        self.addresses = {each: at for each, at in self.addresses.items() if at != address}

    def data(self) -> BrokerData:
        return BrokerData(
            cluster=self.cluster,
            broker_name=self.name,
            broker_addrs=dict(sorted(self.addresses.items())),
            zone_name=self.zone,
            enable_acting_master=self.acting_master,
        )


@dataclass(slots=True, kw_only=True)
class LiveBroker:
    cluster: str
    name: str
    broker_id: int
    address: str
    ha_address: str
    data_version: DataVersion
    expiry_ms: int
    last_seen: float
    session: object


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistration:
    """What a broker says of itself. `session` stands for its connection; None for `acting_master` is a 4.x broker."""

    cluster: str
    name: str
    broker_id: int
    address: str
    ha_address: str = ""
    zone: str | None = None
    expiry_ms: int | None = None
    acting_master: bool | None = None
    topics: TopicConfigAndMappingSerializeWrapper = field(default_factory=TopicConfigAndMappingSerializeWrapper)
    filter_servers: tuple[str, ...] = ()
    session: object = None


@dataclass(frozen=True, slots=True)
class Registered:
    """The answer: a slave learns where its master is."""

    is_new: bool
    master_address: str | None = None
    ha_address: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RulerChange:
    """The lowest id of a group is another one now."""

    group: str
    broker_id: int
    address: str
    ha_address: str
    offline_address: str | None
    live: tuple[LiveBroker, ...]
