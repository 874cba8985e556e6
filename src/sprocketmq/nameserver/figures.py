"""The nameserver's figures for Prometheus. RocketMQ's nameserver exports none, so all names but one are our own."""

from __future__ import annotations

from collections.abc import Iterator

from sprocketmq.metrics.errors import errors_logged
from sprocketmq.metrics.exposition import GAUGE, Metric, exposition
from sprocketmq.metrics.limits import limit_figures
from sprocketmq.nameserver.routes import RouteTable
from sprocketmq.remoting import RemotingServer


def figures(routes: RouteTable, server: RemotingServer) -> str:
    """One scrape."""

    def all_of_them() -> Iterator[Metric]:
        live = Metric("sprocketmq_nameserver_brokers", GAUGE, "Brokers that are registered.")
        masters = Metric("sprocketmq_nameserver_masters", GAUGE, "Broker names that have a master.")
        for cluster, groups in _by_cluster(routes).items():
            live.add(sum(len(ids) for ids in groups), cluster=cluster)
            masters.add(sum(1 for ids in groups if 0 in ids), cluster=cluster)
        yield from (live, masters)
        yield Metric("rocketmq_topic_number", GAUGE, "Topics.").add(len(routes.topics.names()))
        yield from limit_figures(server.connections, {}, {})
        yield errors_logged()

    return exposition([all_of_them], {"node_type": "nameserver", "node_id": server.address})


def _by_cluster(routes: RouteTable) -> dict[str, list[frozenset[int]]]:
    """The broker ids of each name, by cluster."""
    found: dict[str, list[frozenset[int]]] = {}
    for group in routes.groups():
        found.setdefault(group.cluster, []).append(frozenset(group.addresses))
    return found
