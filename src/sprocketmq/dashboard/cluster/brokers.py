"""Brokers: what each says of itself, its role, and who copies from whom."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from sprocketmq.client.admin.brokers import BrokerStatus
from sprocketmq.client.admin.core import if_known
from sprocketmq.dashboard.cluster.lost_brokers import LostBroker
from sprocketmq.dashboard.cluster.view import ClusterView
from sprocketmq.protocol.bodies.controller import ReplicasInfo
from sprocketmq.protocol.bodies.ha import HARuntimeInfo

_STATUS_S = 1.5
_ROLES_S = 4.0
_CONFIG_S = 30.0


@dataclass(frozen=True, slots=True)
class BrokerView:
    """One broker. What it does not tell is None."""

    status: BrokerStatus
    replication: HARuntimeInfo | None = None
    in_sync: bool | None = None

    @property
    def is_master(self) -> bool:
        return self.status.is_master

    @property
    def role(self) -> str:
        return "master" if self.is_master else "replica"

    @property
    def disk(self) -> float | None:
        return number(self.status.runtime.get("commitLogDiskRatio"))

    @property
    def puts_today(self) -> int:
        return self._today("msgPutTotal")

    @property
    def gets_today(self) -> int:
        return self._today("msgGetTotal")

    def _today(self, name: str) -> int:
        now, morning = (number(self.status.runtime.get(f"{name}{when}")) or 0 for when in ("TodayNow", "TodayMorning"))
        return int(now - morning)


@dataclass(frozen=True, slots=True)
class ReplicaSet:
    """The brokers of one name: a master, if there is one, and those that copy from it."""

    cluster: str
    name: str
    brokers: list[BrokerView]
    epoch: int | None = None
    #: Addresses of replicas that the controller knows and no nameserver does.
    away: tuple[str, ...] = ()

    @property
    def master(self) -> BrokerView | None:
        return next((broker for broker in self.brokers if broker.is_master), None)

    @property
    def replicas(self) -> list[BrokerView]:
        return [broker for broker in self.brokers if not broker.is_master]

    def behind(self, replica: BrokerView) -> int | None:
        """Bytes of the log that the replica has not; None when one of both does not answer."""
        return replica.status.behind(self.master.status if self.master else None)


@dataclass(frozen=True, slots=True)
class ControllerGroup:
    leader: str | None
    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BrokersView:
    sets: list[ReplicaSet]
    controllers: ControllerGroup | None = None
    all: list[BrokerView] = field(default_factory=list)
    #: Those that were seen here and are registered no more.
    lost: list[LostBroker] = field(default_factory=list)


def number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


async def brokers(view: ClusterView) -> BrokersView:
    statuses = await view.snapshots.get("status", _STATUS_S, view.admin.brokers.status)
    roles = await view.snapshots.get("roles", _ROLES_S, lambda: _roles(view, statuses))
    sets: dict[tuple[str, str], list[BrokerView]] = {}
    for status in statuses:
        info = roles.replicas.get(status.name)
        in_step = None if info is None else any(each.broker_address == status.address for each in info.in_sync_replicas)
        broker = BrokerView(status, roles.replication.get(status.address), in_step)
        sets.setdefault((status.cluster, status.name), []).append(broker)
    found = [
        ReplicaSet(*key, members, _epoch(roles.replicas.get(key[1])), _away(roles.replicas.get(key[1]), members))
        for key, members in sorted(sets.items())
    ]
    everyone = [broker for each in found for broker in each.brokers]
    return BrokersView(found, roles.controllers, everyone, _lost(view, found))


def _lost(view: ClusterView, sets: list[ReplicaSet]) -> list[LostBroker]:
    """Less those that a controller tells of."""
    here = {each.name: {broker.status.address for broker in each.brokers} for each in sets}
    told = {address for each in sets for address in each.away}
    return [each for each in view.lost.note(here) if each.address not in told]


def _epoch(info: ReplicasInfo | None) -> int | None:
    return None if info is None else info.master_epoch


def _away(info: ReplicasInfo | None, members: list[BrokerView]) -> tuple[str, ...]:
    known = () if info is None else (*info.in_sync_replicas, *info.not_in_sync_replicas)
    here = {broker.status.address for broker in members}
    return tuple(
        sorted(each.broker_address for each in known if each.broker_address and each.broker_address not in here)
    )


@dataclass(frozen=True, slots=True)
class _Roles:
    replication: dict[str, HARuntimeInfo]
    replicas: dict[str, ReplicasInfo]
    controllers: ControllerGroup | None


async def _roles(view: ClusterView, statuses: list[BrokerStatus]) -> _Roles:
    """Replication of those that have replicas or are one, and the controllers that brokers know."""
    alive = [status for status in statuses if not status.error]
    names = [status.name for status in statuses]
    asked = [status.address for status in alive if names.count(status.name) > 1]
    answers = await asyncio.gather(*(if_known(view.admin.brokers.replication(address)) for address in asked))
    replication = {address: info for address, info in zip(asked, answers, strict=True) if info is not None}
    controllers = await _controllers(view, alive)
    replicas: dict[str, ReplicasInfo] = {}
    if controllers is not None and controllers.leader:
        found = await if_known(view.admin.controllers.replicas(controllers.leader, set(names)))
        replicas = dict(found.replicas_info_table) if found is not None else {}
    return _Roles(replication, replicas, controllers)


async def _controllers(view: ClusterView, alive: Iterable[BrokerStatus]) -> ControllerGroup | None:
    """As the first broker that answers has them in its configuration."""
    for status in alive:
        config = await if_known(settings(view, status.address))
        if config is None:
            continue
        addresses = tuple(part for part in config.get("controllerAddr", "").replace(",", ";").split(";") if part)
        if not addresses or config.get("enableControllerMode") != "true":
            return None
        answers = await asyncio.gather(*(if_known(view.admin.controllers.metadata(each)) for each in addresses))
        leader = next((each.controller_leader_address for each in answers if each is not None), None)
        return ControllerGroup(leader, addresses)
    return None


async def settings(view: ClusterView, address: str) -> dict[str, str]:
    """The configuration of a broker."""
    return await view.snapshots.get(("config", address), _CONFIG_S, lambda: view.admin.brokers.config(address))
