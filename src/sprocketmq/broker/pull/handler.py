# cython: annotation_typing=False
"""The straight way of a pull: from the frame to the records to the answer, without a look at any table.

A lane is what the `detour` found out about a group and a topic: that the one may read the other, and what it wants of
it. It holds until one of the tables it was made from changes; then all lanes are closed. What finds no message goes the
detour as well, which can wait for one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.broker.metrics.counter import Counter
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.requests.pull import PullRequest, decode_pull, encode_pull_reply_head
from sprocketmq.store.pull.get import GetStatus, Getter

if not cython.compiled:
    from sprocketmq.hot.memory import ticks_ns
    from sprocketmq.protocol.requests.pull import COMMIT_OFFSET, SUBSCRIPTION

MAX_BYTES = 0x7FFFFFFF

_LITE = int(RequestCode.LITE_PULL_MESSAGE)
_FOUND = GetStatus.FOUND

Detour = Callable[[Any, Command, PullRequest], Any]


class PullLane:
    """One group on one topic. `offsets_key` is what both are called in the table of offsets."""

    def __init__(self, pull: PullRequest, wanted: Any, offsets_key: str, counters: list[Counter]) -> None:
        self.wanted = wanted
        self.offsets_key = offsets_key
        self.counters = counters
        self.takes_lite = False
        self.topic_sys_flag = self.group_sys_flag = 0
        #: Where to pull next, and where when this broker must read from its disk.
        self.broker_id = self.slow_broker_id = 0
        self._carried = pull.sys_flag & SUBSCRIPTION
        self._subscription = pull.subscription
        self._expression_type = pull.expression_type
        self.sub_version = 0

    def fits(self, request: Command, pull: PullRequest) -> bool:
        if pull.queue_id < 0 or pull.queue_id >= len(self.counters) or pull.sys_flag & SUBSCRIPTION != self._carried:
            return False
        if request.code == _LITE and not self.takes_lite:
            return False
        if self._carried:
            return pull.subscription == self._subscription and pull.expression_type == self._expression_type
        return pull.sub_version <= self.sub_version


class StraightPull:
    """`offsets` and `stats` are told what each group got."""

    def __init__(self, getter: Getter, offsets: Any, stats: Any, detour: Detour) -> None:
        self.lanes: dict[str, dict[str, PullLane]] = {}
        self._getter = getter
        self._offsets = offsets
        self._stats = stats
        self._detour = detour

    def open(self, topic: str, group: str, lane: PullLane) -> None:
        self.lanes.setdefault(topic, {})[group] = lane

    def close_all(self, _changed: Any = None) -> None:
        self.lanes.clear()

    def lane_of(self, pull: PullRequest) -> PullLane | None:
        groups = self.lanes.get(pull.topic)
        return None if groups is None else groups.get(pull.consumer_group)

    def pull(self, connection: Any, request: Command) -> Any:
        pull = decode_pull(request)
        lane = self.lane_of(pull)
        if lane is None or not lane.fits(request, pull) or self._offsets.resets:
            return self._detour(connection, request, pull)
        began = ticks_ns()
        max_bytes = MAX_BYTES if pull.max_msg_bytes is None else pull.max_msg_bytes
        result = self._getter.get_message(
            pull.topic, pull.queue_id, pull.queue_offset, pull.max_msg_nums, max_bytes, lane.wanted,
            pull.bulk is not None,
        )  # fmt: skip
        if result.status is not _FOUND:
            return self._detour(connection, request, pull)
        counter = lane.counters[pull.queue_id]
        counter.count += result.count
        counter.size += result.size
        counter.micros += (ticks_ns() - began) // 1000
        self._stats.found += 1
        if pull.sys_flag & COMMIT_OFFSET:
            self._offsets.commit_by(lane.offsets_key, pull.queue_id, pull.commit_offset)
        self._offsets.pull_by(lane.offsets_key, pull.queue_id, result.next_begin_offset)
        head = encode_pull_reply_head(
            request, 0, None, lane.slow_broker_id if result.suggest_pulling_from_slave else lane.broker_id,
            result.next_begin_offset, result.min_offset, result.max_offset, result.size, lane.topic_sys_flag,
            lane.group_sys_flag,
        )  # fmt: skip
        return result.behind(head)
