"""Roles, replicas and health of brokers, from what they say of themselves."""

from __future__ import annotations

from sprocketmq.client.admin.brokers import BrokerStatus
from sprocketmq.dashboard.cluster.brokers import BrokersView, BrokerView, ControllerGroup, ReplicaSet, _away
from sprocketmq.dashboard.cluster.health import findings, line
from sprocketmq.dashboard.cluster.lost_brokers import LostBroker
from sprocketmq.protocol.bodies.controller import ReplicaIdentity, ReplicasInfo


def broker(number: int = 0, error: str | None = None, in_sync: bool | None = None, **runtime: str) -> BrokerView:
    return BrokerView(BrokerStatus("c", "a", number, f"host:{number}", runtime, error), None, in_sync)


def said(*members: BrokerView, controllers: ControllerGroup | None = None) -> tuple[str, str]:
    found = BrokersView([ReplicaSet("c", "a", list(members))] if members else [], controllers, list(members))
    return line(findings(found), len(members))


def test_all_is_well() -> None:
    assert said(broker(commitLogDiskRatio="0.5")) == ("good", "All is well: 1 broker up.")
    assert said(broker(), broker(1, in_sync=True)) == ("good", "All is well: 2 brokers up.")


def test_the_worst_comes_first() -> None:
    assert said(broker(commitLogDiskRatio="0.8")) == ("warn", "the disk of a is 80 % full")
    full = broker(commitLogDiskRatio="0.95")
    assert said(full, broker(1, in_sync=False)) == ("bad", "the disk of a is 95 % full (and 1 more)")
    assert said(broker(error="timed out"))[1] == "a at host:0 does not answer"
    refused = BrokerView(BrokerStatus("c", "a", 0, "host:0", {}, "no permission", refused=True))
    assert said(refused) == ("warn", "a at host:0 does not show you its status"), "it may be as well as can be"
    assert said(broker(brokerActive="false"))[1] == "the store of a has stopped"
    assert said(broker(1))[1] == "a has no master: nothing can be sent to it"
    assert said()[1] == "no broker is registered"
    assert said(broker(), controllers=ControllerGroup(None, ("x:1",)))[1] == "there is no leading controller"


def test_how_far_a_replica_is_behind() -> None:
    master, replica = broker(commitLogMaxOffset=str(100 << 20)), broker(1, commitLogMaxOffset="0")
    each = ReplicaSet("c", "a", [master, replica])
    assert each.behind(replica) == 100 << 20
    assert each.behind(broker(2)) is None, "it does not tell"
    assert said(master, replica) == ("warn", "a replica 1 is 100 MiB behind")


def test_figures_of_a_broker() -> None:
    one = broker(putTps="3.5 2 1", getTransferedTps="7 1 1", msgPutTotalTodayNow="10", msgPutTotalTodayMorning="4")
    assert (one.status.rate_in, one.status.rate_out, one.puts_today, one.disk) == (3.5, 7.0, 6, None)


def test_a_replica_that_only_the_controller_knows_is_away() -> None:
    known = ReplicasInfo(
        in_sync_replicas=(ReplicaIdentity(broker_address="host:0"),),
        not_in_sync_replicas=(ReplicaIdentity(broker_address="host:1"), ReplicaIdentity()),
    )
    assert _away(known, [broker(0), broker(1)]) == ()
    assert _away(None, [broker(0)]) == ()
    alone = ReplicaSet("c", "a", [broker(0)], 2, _away(known, [broker(0)]))
    assert line(findings(BrokersView([alone])), 1) == ("warn", "the replica of a at host:1 is offline")


def test_a_broker_that_is_registered_no_more_is_missed() -> None:
    """A nameserver forgets it at once; all would seem well."""
    lost = LostBroker("b", "host:9", 90.0, was_last=True)
    found = BrokersView([ReplicaSet("c", "a", [broker()])], lost=[lost])
    assert line(findings(found), 1) == ("bad", "b at host:9 went offline 1.5 min ago")
