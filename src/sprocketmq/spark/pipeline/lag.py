"""How far groups are behind: committed offsets against the ends of the queues."""

from __future__ import annotations

from typing import Any

from sprocketmq.client.blocking import offsets
from sprocketmq.spark.options.connection import Connect
from sprocketmq.spark.pipeline.inputs import Input


def lag_rows(source: Input, groups: tuple[str, ...]) -> list[dict[str, Any]]:
    """One row per group and topic. A store knows its groups; of a cluster those of `groups` are asked for."""
    if source.store is not None:
        return _from_store(source.store, groups)
    if source.nameserver is not None:
        return _from_cluster(Connect.to(source.nameserver, source.options), source.topics, groups)
    return []


def _from_store(store: str, groups: tuple[str, ...]) -> list[dict[str, Any]]:
    from sprocketmq.store.view import StoreView, configs

    view = StoreView(store)
    rows = []
    for key, queues in sorted((configs.consumer_offsets(view.source) or {}).items()):
        topic, _, group = key.partition("@")
        if groups and group not in groups:
            continue
        pairs = [
            (offset, queue.max_offset)
            for queue_id, offset in queues.items()
            if (queue := view.queues.get((topic, int(queue_id)))) is not None
        ]
        rows.append(_row(group, topic, pairs))
    return rows


def _from_cluster(connect: Connect, topics: tuple[str, ...], groups: tuple[str, ...]) -> list[dict[str, Any]]:
    rows = []
    with connect.open() as cluster:
        for topic in topics:
            queues = cluster.route(connect.full_name(topic)).read_queues
            ends = {queue: offsets.max_offset(cluster, queue) for queue in queues}
            for group in groups:
                found = {queue: offsets.committed(cluster, connect.full_name(group), queue) for queue in queues}
                pairs = [(offset, ends[queue]) for queue, offset in found.items() if offset is not None]
                if pairs:
                    rows.append(_row(group, topic, pairs))
    return rows


def _row(group: str, topic: str, pairs: list[tuple[int, int]]) -> dict[str, Any]:
    committed, end = sum(offset for offset, _ in pairs), sum(end for _, end in pairs)
    return {"group": group, "topic": topic, "committed": committed, "end": end, "lag": max(0, end - committed)}
