"""The controller's figures for Prometheus: RocketMQ's names where its controller has them, and what sets are doing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sprocketmq.metrics.errors import errors_logged
from sprocketmq.metrics.exposition import COUNTER, GAUGE, Metric, exposition

if TYPE_CHECKING:
    from sprocketmq.controller.server import Controller

#: RocketMQ's numbers of a controller's role.
_FOLLOWER, _LEADER = 1, 3


def figures(controller: Controller) -> str:
    """One scrape."""
    node = {"node_type": "controller", "node_id": controller.member.member_id}
    return exposition([lambda: _server(controller), lambda: _sets(controller)], node)


def _server(controller: Controller) -> Iterator[Metric]:
    role = Metric("rocketmq_controller_role", GAUGE, "3 leads, 1 follows.")
    yield role.add(_LEADER if controller.is_leader else _FOLLOWER)
    active = Metric("rocketmq_controller_active_broker_num", GAUGE, "Brokers that this controller hears of.")
    yield active.add(len(controller.liveness))
    elections = Metric("rocketmq_controller_election_total", COUNTER, "Elections, by what came of them.")
    for result, count in controller.elections.items():
        elections.add(count, election_result=result)
    yield elections
    yield Metric("sprocketmq_controller_notices_total", COUNTER, "Brokers told of elections.").add(
        controller.notices.sent
    )
    yield Metric("sprocketmq_controller_changes_total", COUNTER, "Records changed.").add(controller.sets.swaps)
    failures = Metric("sprocketmq_controller_engine_failures_total", COUNTER, "Changes that the engine failed.")
    yield failures.add(controller.sets.failures)
    yield errors_logged()


def _sets(controller: Controller) -> Iterator[Metric]:
    """Of the leader alone: what the others remember may be old."""
    if not controller.is_leader:
        return
    epoch = Metric("sprocketmq_controller_master_epoch", GAUGE, "Reigns of a broker set so far.")
    in_sync = Metric("sprocketmq_controller_in_sync_replicas", GAUGE, "Replicas with every acknowledged message.")
    replicas = Metric("sprocketmq_controller_replicas", GAUGE, "Replicas that the set has, living or not.")
    mastered = Metric("sprocketmq_controller_has_master", GAUGE, "1 when a living master reigns.")
    for record in controller.sets:
        labels = {"cluster": record.cluster, "broker_set": record.name}
        epoch.add(record.master_epoch, **labels)
        in_sync.add(len(record.in_sync), **labels)
        replicas.add(len(record.replicas), **labels)
        mastered.add(1 if record.master in controller.sets.living(record) else 0, **labels)
    yield from (epoch, in_sync, replicas, mastered)
