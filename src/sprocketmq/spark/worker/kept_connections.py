"""Connections that a task leaves open for the next one.

Spark gives a Python worker one task after the other, in a stream many a second. A task that fails, or stops in the
middle, may leave answers on their way: what it used is closed. Each cluster serves one task at a time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from sprocketmq.client.blocking.connection import BlockingCluster
from sprocketmq.spark.options.connection import Connect

_idle: dict[Connect, BlockingCluster] = {}
os.register_at_fork(after_in_child=_idle.clear)  # they are the parent's


@contextmanager
def kept_cluster(connect: Connect) -> Iterator[BlockingCluster]:
    """The client of this process for that cluster, with the connections that earlier tasks have left open."""
    cluster = _idle.pop(connect, None) or connect.open()
    cluster.wake()
    try:
        yield cluster
    except BaseException:
        cluster.close()
        raise
    if (other := _idle.get(connect)) is not None:
        other.close()
    _idle[connect] = cluster
