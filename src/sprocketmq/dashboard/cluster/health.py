"""Whether all is well, in one line: the worst first."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from sprocketmq.dashboard.cluster.brokers import BrokersView, BrokerView, ReplicaSet
from sprocketmq.dashboard.cluster.lost_brokers import LostBroker
from sprocketmq.theme.numbers import span_text

_DISK_WARNING, _DISK_CRITICAL = 0.75, 0.9
_BEHIND_WARNING = 64 << 20


class ClusterHealth(IntEnum):
    GOOD = 0
    WARNING = 1
    BAD = 2


@dataclass(frozen=True, slots=True)
class HealthFinding:
    health: ClusterHealth
    text: str


def findings(found: BrokersView) -> list[HealthFinding]:
    """What an operator should know, worst first; nothing when all is well."""
    faults = [fault for each in found.sets for fault in (*_silent(each), *_disks(each), *_replicas(each))]
    faults += [_gone(each) for each in found.lost]
    if not found.sets:
        faults.append(HealthFinding(ClusterHealth.BAD, "no broker is registered"))
    if found.controllers is not None and not found.controllers.leader:
        faults.append(HealthFinding(ClusterHealth.BAD, "there is no leading controller"))
    return sorted(faults, key=lambda fault: -fault.health)


def line(faults: list[HealthFinding], brokers: int) -> tuple[str, str]:
    """A word for the colour, and the line."""
    if not faults:
        return "good", f"All is well: {brokers} broker{'s' * (brokers != 1)} up."
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return ("bad" if faults[0].health is ClusterHealth.BAD else "warn"), f"{faults[0].text}{more}"


def _silent(each: ReplicaSet) -> list[HealthFinding]:
    faults = [_unheard(broker) for broker in each.brokers if broker.status.error]
    if each.master is None:
        faults.append(HealthFinding(ClusterHealth.BAD, f"{each.name} has no master: nothing can be sent to it"))
    stopped = [b for b in each.brokers if b.status.runtime.get("brokerActive") == "false"]
    return faults + [
        HealthFinding(ClusterHealth.BAD, f"the store of {broker.status.name} has stopped") for broker in stopped
    ]


def _unheard(broker: BrokerView) -> HealthFinding:
    """A broker that refuses is well for all we know: those who look may not know more."""
    where = f"{broker.status.name} at {broker.status.address}"
    if broker.status.refused:
        return HealthFinding(ClusterHealth.WARNING, f"{where} does not show you its status")
    return HealthFinding(ClusterHealth.BAD, f"{where} does not answer")


def _gone(lost: LostBroker) -> HealthFinding:
    health = ClusterHealth.BAD if lost.was_last else ClusterHealth.WARNING
    ago = span_text(lost.seconds)
    return HealthFinding(health, f"{lost.name} at {lost.address} went offline {ago} ago")


def _disks(each: ReplicaSet) -> list[HealthFinding]:
    faults = []
    for broker in each.brokers:
        if broker.disk is not None and broker.disk >= _DISK_WARNING:
            health = ClusterHealth.BAD if broker.disk >= _DISK_CRITICAL else ClusterHealth.WARNING
            faults.append(HealthFinding(health, f"the disk of {broker.status.name} is {100 * broker.disk:.0f} % full"))
    return faults


def _replicas(each: ReplicaSet) -> list[HealthFinding]:
    faults = [
        HealthFinding(ClusterHealth.WARNING, f"the replica of {each.name} at {address} is offline")
        for address in each.away
    ]
    for replica in each.replicas:
        name = f"{each.name} replica {replica.status.id}"
        if replica.in_sync is False:
            faults.append(HealthFinding(ClusterHealth.WARNING, f"{name} is not in sync with its master"))
        elif (each.behind(replica) or 0) >= _BEHIND_WARNING:
            faults.append(
                HealthFinding(ClusterHealth.WARNING, f"{name} is {(each.behind(replica) or 0) >> 20} MiB behind")
            )
    return faults
