"""Orderly POP: what was taken of each queue and is not settled yet.

A queue gives nothing more to its group while a message of the last take is neither acknowledged nor visible again. The
group's offset moves to the first that is not acknowledged; when the time is over, the next take begins there, and
whoever waits for the queue is told. That goes by the time that passes: a wall clock that is set frees no queue, and
keeps none. An offset that somebody else has set ends the take. What is taken is kept in consumerOrderInfo.json and
outlives a restart. It is saved with the offsets, every `flushConsumerOffsetInterval`, as RocketMQ saves it: a kill
forgets the takes since, and their queues are free.

An answer says how often its messages were taken before, as `flag qoQUEUE%OFFSET times` for each that was, and for the
queue as `flag QUEUE times` the least of them; clients show it as the reconsume times.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sprocketmq.broker.pop.records import NORMAL
from sprocketmq.broker.pop.takes import Key, Take, takes_from_tree, takes_to_tree
from sprocketmq.broker.system_topics.alarm import Alarm, Steady
from sprocketmq.broker.tables.offsets import ConsumerOffsets
from sprocketmq.broker.tables.saver import Saver
from sprocketmq.codes import ResponseCode
from sprocketmq.errors import BodyError, RequestRefused
from sprocketmq.logs import Events
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.files.config_files import json_file
from sprocketmq.store.files.files import Files

events = Events("sprocketmq.broker.pop")

#: So many times that count no longer may stay in the heap; above that, half of it.
_FEW_ENDS = 64
#: Java's is a UUID.
_LONGEST_ATTEMPT = 255


def check_take(invisible_time: int, longest_ms: int, attempt_id: str | None = None) -> None:
    """RequestRefused for what a take must not keep: times that nobody lives to see, attempts of any length."""
    if invisible_time > longest_ms:
        raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, f"invisibleTime must be {longest_ms} ms at most")
    if attempt_id is not None and len(attempt_id) > _LONGEST_ATTEMPT:
        raise RequestRefused(ResponseCode.INVALID_PARAMETER, f"attemptId must have {_LONGEST_ATTEMPT} letters at most")


class PopOrder:
    """`on_free` is told of every queue (topic, queue id) that may be taken from again."""

    def __init__(self, offsets: ConsumerOffsets, files: Files, folder: Path, clock: Clock) -> None:
        self.on_free: Callable[[str, int], object] = lambda _topic, _queue_id: None
        self._offsets = offsets
        self._clock = clock
        self._steady = Steady(clock)
        self.alarm = Alarm("pop order", self._steady, self._ring)
        self._takes: dict[Key, Take] = {}
        self._ends: list[tuple[int, Key]] = []
        self._times_set: dict[Key, int] = {}
        self._file = json_file(files, folder / "consumerOrderInfo.json")
        self.saver = Saver("orderly takes", self._take)
        self.saver.changed()

    # -- across restarts ----------------------------------------------------------------------------------------------

    def load(self) -> None:
        """A file that says something else is no reason not to start: its queues are free."""
        try:
            takes = dict(takes_from_tree(self._file.load() or {}))
        except BodyError as error:
            events.warning("orderly takes forgotten", reason=error)
            return
        self._takes = {key: take for key, take in takes.items() if take.open}
        now = self._clock.now_ms()
        for key, take in self._takes.items():
            take.ahead_ms = max(now, take.pop_time) - self._steady.now_ms()  # none waits longer than it was told to
            self._wake_at(take.free_ms, key)

    def save(self) -> None:
        """Write the file when something changed since the last time; for a stop."""
        self.saver.close()

    def _take(self) -> Callable[[], None]:
        return partial(self._file.save, takes_to_tree(self._takes))

    # -- takes --------------------------------------------------------------------------------------------------------

    def is_blocked(self, topic: str, group: str, queue_id: int, attempt_id: str | None) -> bool:
        """The same attempt may take again what it did not hear of."""
        take = self._takes.get((topic, group, queue_id))
        if take is None or (attempt_id and attempt_id == take.attempt_id):
            return False
        if self._was_moved(take, topic, group, queue_id):
            del self._takes[topic, group, queue_id]
            return False
        return self._steady.now_ms() < take.free_ms

    def taken(
        self, topic: str, group: str, queue_id: int, offsets: list[int], next_offset: int, pop_time: int,
        invisible_time: int, attempt_id: str | None,
    ) -> list[str]:  # fmt: skip
        """Note a take; how often its messages were taken before, in the form of an answer."""
        key = topic, group, queue_id
        times = self._times(self._takes.get(key), offsets, attempt_id)
        now = self._clock.now_ms()
        take = Take(offsets, next_offset, pop_time, pop_time + invisible_time, attempt_id, times, now)
        take.ahead_ms = now - self._steady.now_ms()
        self._takes[key] = take
        self.saver.changed()
        self._offsets.commit(group, topic, queue_id, offsets[0])
        self._wake_at(take.free_ms, key)
        least = min(times.values()) if len(times) == len(offsets) else 0
        each = [f"{NORMAL} qo{queue_id}%{offset} {count}" for offset, count in times.items()]
        return [*each, f"{NORMAL} {queue_id} {least}"]

    def ack(self, topic: str, group: str, queue_id: int, offset: int, pop_time: int) -> None:
        """An acknowledgement of an earlier take changes nothing."""
        take = self._takes.get((topic, group, queue_id))
        if take is None or take.pop_time != pop_time or offset not in take.offsets:
            return
        take.acked.add(offset)
        take.touched_ms = self._clock.now_ms()
        self.saver.changed()
        self._offsets.commit(group, topic, queue_id, take.commit_offset)
        if not take.open:
            del self._takes[topic, group, queue_id]
        if self._steady.now_ms() >= take.free_ms:
            self.on_free(topic, queue_id)
        else:  # perhaps earlier than before
            self._wake_at(take.free_ms, (topic, group, queue_id))

    def hide(self, topic: str, group: str, queue_id: int, offset: int, pop_time: int, until_ms: int) -> None:
        """Keep one message hidden until then; one that was not taken, or is acknowledged, changes nothing."""
        take = self._takes.get((topic, group, queue_id))
        if take is not None and take.pop_time == pop_time and offset in take.open:
            set_by = self._clock.now_ms() - self._steady.now_ms() - take.ahead_ms
            take.later[offset] = until_ms - set_by  # all times of a take are of the clock that it began with
            self.saver.changed()
            self._wake_at(take.free_ms, (topic, group, queue_id))

    def _was_moved(self, take: Take, topic: str, group: str, queue_id: int) -> bool:
        if self._offsets.is_reset(group, topic, queue_id):
            return True
        return self._offsets.query(group, topic, queue_id) != take.commit_offset

    def _times(self, before: Take | None, offsets: list[int], attempt_id: str | None) -> dict[int, int]:
        if before is None:
            return {}
        if attempt_id and attempt_id == before.attempt_id:
            return before.times
        again = [offset for offset in offsets if offset in before.offsets]
        return {offset: before.times.get(offset, 0) + 1 for offset in again}

    # -- when the time is over ----------------------------------------------------------------------------------------

    def _wake_at(self, at_ms: int, key: Key) -> None:
        """One time for each queue: when it comes and the queue is taken again, the next is set. One that was set to
        an earlier time leaves the later one in the heap until there are too many like it.
        """
        if at_ms < self._times_set.get(key, at_ms + 1):
            self._times_set[key] = at_ms
            heapq.heappush(self._ends, (at_ms, key))
            if len(self._ends) > _FEW_ENDS + 2 * len(self._times_set):
                self._ends = [(at_ms, key) for key, at_ms in self._times_set.items()]
                heapq.heapify(self._ends)
            self.alarm.set(self._ends[0][0])

    def _ring(self) -> None:
        now = self._steady.now_ms()
        while self._ends and self._ends[0][0] <= now:
            at_ms, key = heapq.heappop(self._ends)
            if self._times_set.get(key) == at_ms:
                del self._times_set[key]
                self._end(key, now)
        if self._ends:
            self.alarm.set(self._ends[0][0])

    def _end(self, key: Key, now: int) -> None:
        take = self._takes.get(key)
        if take is not None and take.free_ms <= now:
            self.on_free(key[0], key[2])
        elif take is not None:
            self._wake_at(take.free_ms, key)
