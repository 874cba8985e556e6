"""Which offsets a query reads: pure arithmetic over offset maps, without Spark and without a broker.

Ranges are half-open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from sprocketmq.errors import SprocketError
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.spark.options.offset_maps import Offsets


class DataLost(SprocketError):
    """Messages that the query has not read yet are gone from the broker."""


@dataclass(frozen=True)
class QueueRange:
    """The messages [begin, end) of one queue."""

    queue: MessageQueue
    begin: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.begin

    def __str__(self) -> str:
        return f"{self.queue} [{self.begin}, {self.end})"


# -- from two maps to ranges ------------------------------------------------------------------------------------------


def ranges_between(start: Mapping[MessageQueue, int], end: Mapping[MessageQueue, int]) -> list[QueueRange]:
    """What lies between two maps. Every queue of `end` must be in `start`; empty ranges are left out."""
    return [QueueRange(queue, start[queue], stop) for queue, stop in sorted(end.items()) if start[queue] < stop]


def split_ranges(
    ranges: list[QueueRange], min_partitions: int | None = None, max_records: int | None = None
) -> list[QueueRange]:
    """Ranges no longer than `max_records`, and about `min_partitions` of them, long ones cut into more pieces."""
    if max_records:
        ranges = [piece for one in ranges for piece in _cut(one, -(-one.size // max_records))]
    total = sum(one.size for one in ranges)
    if not min_partitions or len(ranges) >= min_partitions or not total:
        return ranges
    return [piece for one in ranges for piece in _cut(one, max(1, round(one.size / total * min_partitions)))]


def _cut(one: QueueRange, parts: int) -> list[QueueRange]:
    """In `parts` pieces whose lengths differ by at most one; none is empty."""
    parts = min(parts, one.size)
    places = [one.begin + one.size * number // parts for number in range(parts + 1)]
    return [QueueRange(one.queue, begin, end) for begin, end in pairwise(places)]


# -- admission --------------------------------------------------------------------------------------------------------


def limit_rows(start: Mapping[MessageQueue, int], end: Offsets, most: int) -> Offsets:
    """`end`, drawn back so that about `most` messages lie between: each queue gives in proportion to what it has."""
    sizes = {queue: max(0, stop - start[queue]) for queue, stop in end.items()}
    total = sum(sizes.values())
    if total <= most:
        return end
    return {queue: min(end[queue], start[queue] + _share(most, size, total)) for queue, size in sizes.items()}


def _share(most: int, size: int, total: int) -> int:
    """At least one where there is any: a small queue beside large ones must not starve."""
    return max(most * size // total, 1 if size else 0)


def limit_bytes(
    start: Mapping[MessageQueue, int], end: Offsets, most: int, mean_size: Callable[[MessageQueue, int], float]
) -> Offsets:
    """As `limit_rows`, by bytes: `mean_size(queue, offset)` tells how large messages are from there on."""
    sizes = {queue: max(0, stop - start[queue]) for queue, stop in end.items()}
    weights = {queue: size * mean_size(queue, start[queue]) for queue, size in sizes.items() if size}
    total = sum(weights.values())
    if total <= most:
        return end
    return {
        queue: min(stop, start[queue] + max(1, int(sizes[queue] * most / total))) if sizes[queue] else stop
        for queue, stop in end.items()
    }


@dataclass
class Patience:
    """Waits for `min_rows`, but no longer than `max_delay_ms` after the last batch. Ask it with the time in ms."""

    min_rows: int
    max_delay_ms: int
    last_batch_ms: int | None = None

    def enough(self, rows: int, now_ms: int) -> bool:
        """Whether a batch of so many rows may begin now. The first may at once: how long it waited is unknown."""
        waited_enough = self.last_batch_ms is None or now_ms - self.last_batch_ms >= self.max_delay_ms
        if rows > 0 and (rows >= self.min_rows or waited_enough):
            self.last_batch_ms = now_ms
            return True
        return False


def rows_between(start: Mapping[MessageQueue, int], end: Mapping[MessageQueue, int]) -> int:
    return sum(max(0, stop - start.get(queue, stop)) for queue, stop in end.items())


def keep_known(start: Mapping[MessageQueue, int], end: Offsets) -> Offsets:
    """`end`, never behind `start`, and with the queues whose broker is away just now left where they are."""
    return {queue: max(start.get(queue, 0), end.get(queue, 0)) for queue in {*start, *end}}


# -- loss -------------------------------------------------------------------------------------------------------------


def find_losses(
    start: Mapping[MessageQueue, int], earliest: Mapping[MessageQueue, int], latest: Mapping[MessageQueue, int]
) -> list[str]:
    """Why some queue cannot be read from its start; nothing when all can."""
    losses = []
    for queue, begin in sorted(start.items()):
        first, last = earliest.get(queue), latest.get(queue)
        if first is None or last is None:
            losses.append(f"{queue} is gone, from offset {begin} on")
        elif begin < first:
            losses.append(f"{queue} begins at {first}: offsets {begin} to {first - 1} have expired")
        elif begin > last:
            losses.append(f"{queue} ends at {last}, before offset {begin}: the topic was made anew or lost its end")
    return losses


def clamp(start: Mapping[MessageQueue, int], earliest: Mapping[MessageQueue, int], latest: Offsets) -> Offsets:
    """`start` moved into what is there. A queue that was made anew is read from its beginning."""
    return {
        queue: earliest[queue] if begin < earliest[queue] or begin > latest[queue] else begin
        for queue, begin in start.items()
        if queue in earliest and queue in latest
    }


def report_loss(losses: Iterable[str], fail: bool, log: Callable[[str], None]) -> None:
    """Raises DataLost, or logs each loss when the query was told to go on."""
    losses = list(losses)
    if losses and fail:
        raise DataLost(f"data was lost: {'; '.join(losses)} (option 'failOnDataLoss' false goes on without it)")
    for loss in losses:
        log(f"data was lost: {loss}")
