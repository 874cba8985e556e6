"""How many messages of each topic rest in a system topic: open transactions, timers that are not due.

    transactionMetrics    {dataVersion, transactionCount{topic: {count, timeStamp}}}, JSON in one line
    timermetrics          the same with timingCount

RocketMQ's brokers keep these files too; its tools and ours only show them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from sprocketmq.broker.tables.saver import Saver
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.files.config_files import json_file
from sprocketmq.store.files.files import Files


class Resting:
    """`name` is the field with the counts."""

    def __init__(self, files: Files, path: Path, name: str, clock: Clock) -> None:
        self.counts: dict[str, int] = {}
        self._name = name
        self._file = json_file(files, path, pretty=False)
        self._clock = clock
        self._version = DataVersion(timestamp=clock.now_ms())
        self._changed_ms: dict[str, int] = {}
        self.saver = Saver(path.name, self._take)
        self.saver.changed()

    def add(self, topic: str, count: int) -> None:
        left = self.counts.get(topic, 0) + count
        self.counts[topic] = max(left, 0)
        self._changed_ms[topic] = self._clock.now_ms()
        self.saver.changed()

    def begin(self, counts: Mapping[str, int]) -> None:
        """What rests at a start, as it was counted."""
        self.counts = {}
        for topic, count in counts.items():
            self.add(topic, count)

    def load(self) -> bool:
        """Take what a file of an earlier run says; False when there is none."""
        tree = self._file.load()
        table = None if tree is None else tree.get(self._name)
        if not isinstance(table, dict):
            return False
        self.begin({topic: int(each.get("count", 0)) for topic, each in table.items() if isinstance(each, dict)})
        return True

    def tree(self) -> dict[str, Any]:
        counts = {topic: {"count": count, "timeStamp": self._changed_ms[topic]} for topic, count in self.counts.items()}
        return {"dataVersion": codec.to_tree(self._version), self._name: counts}

    def save(self) -> None:
        """Write the file when something changed since the last time; for a stop."""
        self.saver.close()

    def _take(self) -> Callable[[], None]:
        self._version = self._version.next(self._clock.now_ms())
        return partial(self._file.save, self.tree())
