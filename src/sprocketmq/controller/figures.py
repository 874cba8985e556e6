"""The controller's figures for Prometheus: RocketMQ's names where its controller has them, and what sets are doing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.metrics.errors import errors_logged
from sprocketmq.metrics.exposition import COUNTER, GAUGE, HISTOGRAM, Metric, exposition
from sprocketmq.remoting.answer_times import BOUNDS_MS, UNKNOWN

if TYPE_CHECKING:
    from sprocketmq.controller.server import Controller

#: RocketMQ's numbers of a controller's role.
_FOLLOWER, _LEADER = 1, 3
_BOUNDS_US = tuple(1000 * bound for bound in BOUNDS_MS)


def figures(controller: Controller) -> str:
    """One scrape."""
    node = {"node_type": "controller", "node_id": controller.member.member_id}
    parts = (_server, _requests, _sets)
    return exposition([partial(part, controller) for part in parts], node)


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


def _requests(controller: Controller) -> Iterator[Metric]:
    """What brokers and administrators ask, by the names that RocketMQ's controller has for it."""
    total = Metric("rocketmq_controller_request_total", COUNTER, "Requests answered, by what came of them.")
    latency = Metric("rocketmq_controller_request_latency", HISTOGRAM, "Microseconds from a request to its answer.")
    asked: Counter[tuple[str, str]] = Counter()
    took: dict[str, tuple[list[int], float]] = {}
    for kind in controller.answer_times.kinds.values():
        if kind.code == UNKNOWN:
            continue
        name = f"CONTROLLER_{RequestCode(kind.code).name.removeprefix('CONTROLLER_')}"
        asked[name, "success" if kind.response == ResponseCode.SUCCESS else "failed"] += sum(kind.counts)
        counts, microseconds = took.get(name, ([0] * len(kind.counts), 0.0))
        took[name] = [*map(sum, zip(counts, kind.counts, strict=True))], microseconds + kind.total_ns / 1e3
    for (name, status), count in asked.items():
        total.add(count, request_type=name, request_handle_status=status)
    for name, (counts, microseconds) in took.items():
        latency.add_histogram(_BOUNDS_US, counts, microseconds, request_type=name)
    yield from (total, latency)


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
