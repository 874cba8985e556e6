"""How near a server is to what it grants its peers, and how often one of them wanted more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sprocketmq.metrics.exposition import COUNTER, GAUGE, Metric
from sprocketmq.remoting.connections import ConnectionRegistry


def limit_figures(
    connections: ConnectionRegistry, held: Mapping[str, int], refused: Mapping[str, int]
) -> Iterator[Metric]:
    """`held` and `refused` are the server's own, besides those of its connections."""
    yield Metric("sprocketmq_connections", GAUGE, "Open connections.").add(len(connections))
    encrypted = sum(connection.is_encrypted for connection in connections)
    yield Metric("sprocketmq_encrypted_connections", GAUGE, "Those of them that are over TLS.").add(encrypted)
    of_peers = {"unfinished frames": connections.held.unfinished, "answers": connections.held.unread}
    kept = Metric("sprocketmq_held_bytes", GAUGE, "Bytes that are kept for peers.")
    for what, size in {**of_peers, **held}.items():
        kept.add(size, what=what)
    yield kept
    counts = Metric("sprocketmq_refused_total", COUNTER, "What peers wanted beyond a limit.")
    for limit, count in {
        **dict.fromkeys(("connections", "frames", "headers", "bodies"), 0),
        "costly work": connections.costs.rests,
        **connections.refused,
        **refused,
    }.items():
        counts.add(count, limit=limit)
    yield counts
