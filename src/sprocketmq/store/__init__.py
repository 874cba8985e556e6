"""The files of a broker. `store.MessageStore` writes them; `view` reads them where no broker runs.

    log         the CommitLog: all messages in the order they came; append, flush
    dispatch    from a record in the log to the entries of queue and index
    queue       ConsumeQueues: 20-byte entries that point into the log
    index       IndexFiles: from a key to the places of its messages
    pull        reading a queue for a pull
    recovery    what a start finds on disk, and what it makes of it
    timer       the timer wheel and its log
    files       the disk: files, maps, the lock, the layout of a store directory
    view        a store directory read only, for tools and Spark
    offline     verify, rebuild, replay

`scan` and `Scan` need pyarrow, and are imported when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sprocketmq.store.view.scan_batches import Scan, scan

__all__ = ["Scan", "scan"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from sprocketmq.store.view import scan_batches

        return getattr(scan_batches, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
