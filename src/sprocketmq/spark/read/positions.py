"""From the words and times in options to offsets, by asking the brokers."""

from __future__ import annotations

from collections.abc import Callable

from sprocketmq.client.blocking import offsets as blocking_offsets
from sprocketmq.client.blocking.connection import BlockingCluster
from sprocketmq.client.blocking.range_reader import RangeReader
from sprocketmq.client.errors import NoRoute
from sprocketmq.client.subscription import Subscription
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.spark.options.offset_maps import EARLIEST, LATEST, Offsets
from sprocketmq.spark.options.options import OptionError
from sprocketmq.spark.options.source import Place, SourceOptions, TopicSelection

_SAMPLE = 32
_TRIES_TO_FIND = 4  # a topic that was just made is known to its broker first
_GUESS_BYTES = 512.0


class Positions:
    """What the brokers say of the queues that a source reads."""

    def __init__(self, cluster: BlockingCluster, options: SourceOptions) -> None:
        self.cluster, self._options = cluster, options
        self.group = options.connect.full_name(options.group)

    def queues(self) -> list[MessageQueue]:
        """The queues there are now; brokers and queues that were added are among them."""
        topics = self._options.topics
        if topics.queues:
            return list(topics.queues)
        names = self._topic_names(topics)
        return [queue for name in names for queue in self._read_queues(name)]

    def _topic_names(self, topics: TopicSelection) -> list[str]:
        if topics.pattern is None:
            return [self._options.connect.full_name(name) for name in topics.names]
        return [name for name in self.cluster.topics() if topics.matches(name)]

    def _read_queues(self, topic: str) -> tuple[MessageQueue, ...]:
        try:
            route = self.cluster.insist(lambda: self.cluster.route(topic, fresh=True), at_most=_TRIES_TO_FIND)
            return route.read_queues
        except NoRoute:
            if self._options.topics.pattern is not None:  # deleted since the list was made
                return ()
            raise OptionError("subscribe", f"names {topic}, which does not exist") from None

    def earliest(self, queues: list[MessageQueue]) -> Offsets:
        return {queue: blocking_offsets.min_offset(self.cluster, queue) for queue in queues}

    def latest(self, queues: list[MessageQueue]) -> Offsets:
        return {queue: blocking_offsets.max_offset(self.cluster, queue) for queue in queues}

    def resolve(self, place: Place, queues: list[MessageQueue], *, end: bool = False) -> Offsets:
        """The offsets that `place` means; for `end` those that a range stops before."""
        if place.timestamp is not None:
            return {queue: self._at(place, queue, place.timestamp, end) for queue in queues}
        if place.timestamps:
            times = _for_all(place.option, dict(place.timestamps), queues)
            return {queue: self._at(place, queue, times[queue], end) for queue in queues}
        if place.offsets:
            offsets = _for_all(place.option, dict(place.offsets), queues)
            return {queue: self._number(queue, offsets[queue]) for queue in queues}
        words: dict[str, Callable[[list[MessageQueue]], Offsets]] = {
            "earliest": self.earliest, "latest": self.latest, "committed": self.committed,
        }  # fmt: skip
        return words[place.word or "latest"](queues)

    def committed(self, queues: list[MessageQueue]) -> Offsets:
        """Where the group goes on; from the beginning where it has committed nothing."""
        found = {queue: blocking_offsets.committed(self.cluster, self.group, queue) for queue in queues}
        unknown = self.earliest([queue for queue, offset in found.items() if offset is None])
        return {queue: unknown[queue] if offset is None else offset for queue, offset in found.items()}

    def commit(self, offsets: Offsets) -> None:
        for queue, offset in offsets.items():
            blocking_offsets.commit(self.cluster, self.group, queue, offset)

    def mean_size(self, queue: MessageQueue, offset: int) -> float:
        """The mean size of a few messages from `offset` on; a guess where there is none."""
        reader = RangeReader(self.cluster, self.group, queue, Subscription(queue.topic), batch=_SAMPLE, depth=1)
        pulled = next(reader.read(offset, offset + _SAMPLE), None)
        if pulled is None or not pulled.data:
            return _GUESS_BYTES
        return len(pulled.data) / max(1, pulled.next_offset - pulled.begin)

    def _number(self, queue: MessageQueue, offset: int) -> int:
        if offset == EARLIEST:
            return blocking_offsets.min_offset(self.cluster, queue)
        return blocking_offsets.max_offset(self.cluster, queue) if offset == LATEST else offset

    def _at(self, place: Place, queue: MessageQueue, timestamp: int, end: bool) -> int:
        found = blocking_offsets.offset_at(self.cluster, queue, timestamp)
        newest = blocking_offsets.max_offset(self.cluster, queue)
        if found >= newest and not end and not self._options.latest_if_too_new:
            reason = f"{queue} has no message stored at {timestamp} ms or later"
            raise OptionError(place.option, f"{reason} (startingOffsetsByTimestampStrategy latest waits for one)")
        return min(found, newest)


def _for_all(name: str, given: Offsets, queues: list[MessageQueue]) -> Offsets:
    """`given`, which must name exactly the queues that are read."""
    missing = [str(queue) for queue in queues if queue not in given]
    strange = [str(queue) for queue in given if queue not in queues]
    if missing or strange:
        reason = f"lacks {', '.join(missing)}" if missing else f"names {', '.join(strange)}, which is not read"
        raise OptionError(name, f"{reason}: it must name every queue of every topic")
    return given
