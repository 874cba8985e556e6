"""A read-only view of a store directory, for tools and for Spark."""

from sprocketmq.store.view.log import Damage, LogView
from sprocketmq.store.view.scan_select import Found, Selection, Unreadable, scan_log, scan_queues
from sprocketmq.store.view.scan_splits import LogSplit, QueueSplit, Split, plan_splits
from sprocketmq.store.view.sizes import Sizes
from sprocketmq.store.view.source import ArrowSource, ByteSource, LocalSource, open_source
from sprocketmq.store.view.store import StoreView

__all__ = [
    "ArrowSource",
    "ByteSource",
    "Damage",
    "Found",
    "LocalSource",
    "LogSplit",
    "LogView",
    "QueueSplit",
    "Selection",
    "Sizes",
    "Split",
    "StoreView",
    "Unreadable",
    "open_source",
    "plan_splits",
    "scan_log",
    "scan_queues",
]
