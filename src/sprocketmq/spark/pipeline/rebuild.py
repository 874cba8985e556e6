"""`rebuild`: queues and index of a large log, read in parallel and written in log order, as the broker writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from pyspark.sql import SparkSession

from sprocketmq.errors import StoreError
from sprocketmq.store.offline.rebuild import Dispatched, Rebuild, Rebuilt
from sprocketmq.store.view import Damage, LogSplit, open_source, plan_splits
from sprocketmq.store.view.listing import open_log


def rebuild(spark: SparkSession, directory: str, progress: Callable[[int], None] = lambda _offset: None) -> Rebuilt:
    """Write the queues and the index of `directory` anew. Every worker must see the directory; no broker may run."""
    root = Path(directory)
    if not (root / "commitlog").is_dir():
        raise StoreError(f"{directory} has no commitlog to rebuild from")
    work = Rebuild(root)
    tasks = spark.sparkContext.defaultParallelism * 3
    pieces = [one for one in plan_splits(work.view.source, at_least=tasks) if isinstance(one, LogSplit)]
    delays = work.view.delays
    read = spark.sparkContext.parallelize(pieces, max(1, len(pieces))).mapPartitions(
        lambda own: [[found for piece in own for found in read_piece(directory, piece, delays)]]
    )
    return work.run(progress, (found for batch in read.toLocalIterator(prefetchPartitions=True) for found in batch))


def read_piece(directory: str, piece: LogSplit, delays: tuple[int, ...]) -> Iterator[Dispatched | Damage]:
    """On a worker: what each record of the piece adds to queues and index."""
    log = open_log(open_source(directory))
    for found in log.walk(piece.begin, piece.end, skip_damage=True):
        yield found if isinstance(found, Damage) else Dispatched.of(found, delays)
