"""Orderly POP: what was taken of each queue and is not settled yet.

A queue gives nothing more to its group while a message of the last take is neither acknowledged nor visible again. The
group's offset moves to the first that is not acknowledged; when the time is over, the next take begins there. This is
kept in memory: after a restart the queue is taken from its offset on.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sprocketmq.broker.offsets import ConsumerOffsets
from sprocketmq.store.files import Clock


@dataclass(slots=True)
class _Take:
    offsets: list[int]
    next_offset: int
    visible_ms: int
    attempt_id: str | None
    acked: set[int] = field(default_factory=set)
    later: dict[int, int] = field(default_factory=dict)

    @property
    def open(self) -> list[int]:
        return [offset for offset in self.offsets if offset not in self.acked]


class PopOrder:
    def __init__(self, offsets: ConsumerOffsets, clock: Clock) -> None:
        self._offsets = offsets
        self._clock = clock
        self._takes: dict[tuple[str, str, int], _Take] = {}

    def is_blocked(self, topic: str, group: str, queue_id: int, attempt_id: str | None) -> bool:
        """The same attempt may take again what it did not hear of."""
        take = self._takes.get((topic, group, queue_id))
        if take is None or not take.open or (attempt_id and attempt_id == take.attempt_id):
            return False
        return self._clock.now_ms() < take.later.get(take.open[0], take.visible_ms)

    def taken(
        self, topic: str, group: str, queue_id: int, offsets: list[int], next_offset: int, pop_time: int,
        invisible_time: int, attempt_id: str | None,
    ) -> None:  # fmt: skip
        take = _Take(offsets, next_offset, pop_time + invisible_time, attempt_id)
        self._takes[topic, group, queue_id] = take
        self._offsets.commit(group, topic, queue_id, offsets[0])

    def ack(self, topic: str, group: str, queue_id: int, offset: int) -> None:
        take = self._takes.get((topic, group, queue_id))
        if take is None or offset not in take.offsets:
            return
        take.acked.add(offset)
        left = take.open
        self._offsets.commit(group, topic, queue_id, left[0] if left else take.next_offset)
        if not left:
            del self._takes[topic, group, queue_id]

    def hide(self, topic: str, group: str, queue_id: int, offset: int, invisible_time: int) -> None:
        """Keep one message hidden until then."""
        take = self._takes.get((topic, group, queue_id))
        if take is not None:
            take.later[offset] = self._clock.now_ms() + invisible_time
