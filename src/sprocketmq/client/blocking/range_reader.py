"""A stretch of one queue as raw records, read as fast as a broker gives it, for batch jobs.

Several pulls are on their way at once. Where a pull ends is only known from its reply, so the stretch is cut into steps
of as many offsets as the broker was seen to give, and what a short reply leaves of a step is asked for again before the
next step is handed on. With a filter a broker may go far beyond a step, so then pulls go one by one.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from sprocketmq.client.blocking.connection import BlockingCluster, BlockingConnection, refused
from sprocketmq.client.cluster.pull_request import OutgoingPull, PullStatus, is_for_master, records_of
from sprocketmq.client.errors import ClientError, Unreachable
from sprocketmq.client.subscription import Subscription
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.names import ALL

_STATUS = {int(status.value): status for status in PullStatus}
_PAUSE_S = 0.2
_MAX_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Pulled:
    """Records back to back. What was asked for in [begin, next_offset) and is not in `data` is gone or did not match.

    `lost` tells that the broker no longer has the offsets, as opposed to a filter that passed none of them.
    """

    begin: int
    next_offset: int
    data: bytes
    lost: bool = False


@dataclass
class _Step:
    """The offsets [at, end), of which a reply is awaited from `at` on; `reply` is there when it came."""

    at: int
    end: int
    number: int = 0
    reply: Command | None = None


@dataclass
class RangeReader:
    """Reads one queue for `group`. `patience` is for how many seconds a silent broker is asked again."""

    cluster: BlockingCluster
    group: str
    queue: MessageQueue
    subscription: Subscription
    batch: int = 1024
    depth: int = 4
    patience: float = 120.0

    def read(self, begin: int, end: int) -> Iterator[Pulled]:
        """The pulls that cover [begin, end), in order. With a filter the last may reach beyond `end`."""
        last_progress = time.monotonic()
        while begin < end:
            try:
                for pulled in self._stretch(begin, end):
                    yield pulled
                    begin, last_progress = pulled.next_offset, time.monotonic()
            except ClientError as error:
                if not error.retriable or time.monotonic() - last_progress > self.patience:
                    raise
                self._forget_connection()
                time.sleep(_PAUSE_S)

    def _stretch(self, begin: int, end: int) -> Iterator[Pulled]:
        """As `read`, over one connection."""
        connection = self.cluster.connection(self.cluster.address(self.queue))
        pace = _Pace(self.batch)
        steps: deque[_Step] = deque()
        ahead = begin
        while begin < end:
            while ahead < end and len(steps) < (1 if self._filtered or not pace.known else self.depth):
                steps.append(_Step(ahead, min(ahead + pace.step, end)))
                self._ask(connection, steps[-1])
                ahead = steps[-1].end
            step = steps[0]
            pulled = self._result(self._await(connection, steps, step), step)
            yield pulled
            begin = pulled.next_offset
            pace.saw(begin - pulled.begin, step.end - step.at)
            if begin < step.end:
                step.at, step.reply = begin, None
                self._ask(connection, step)
            else:
                steps.popleft()
                ahead = max(ahead, begin)
                while steps and steps[0].end <= begin:  # the broker has nothing left of them
                    self._await(connection, steps, steps.popleft())

    @property
    def _filtered(self) -> bool:
        return self.subscription.expression != ALL

    def _ask(self, connection: BlockingConnection, step: _Step) -> None:
        most = self.batch if self._filtered else step.end - step.at
        asked = OutgoingPull(self.queue, step.at, self.subscription, most, _MAX_BYTES, bulk=True)
        step.number = connection.send(asked.command(self.group))

    def _await(self, connection: BlockingConnection, steps: deque[_Step], wanted: _Step) -> Command:
        waiting = {step.number: step for step in (*steps, wanted)}
        while wanted.reply is None:
            reply = connection.receive()
            if (step := waiting.get(reply.opaque)) is not None:
                step.reply = reply
        return wanted.reply

    def _result(self, reply: Command, step: _Step) -> Pulled:
        status, ext = _STATUS.get(reply.code), reply.ext_fields or {}
        if status is None or "nextBeginOffset" not in ext:
            raise refused(reply, self.queue.broker_name)
        following = int(ext["nextBeginOffset"])
        if is_for_master(status, step.at, following):
            raise Unreachable(self.queue.broker_name, f"its slave does not have offset {step.at}")
        if status is PullStatus.FOUND:
            return Pulled(step.at, max(following, step.at + 1), records_of(reply, self.queue))
        if status is PullStatus.NO_MATCH and following > step.at:
            is_gap = "offsetDelta" in ext  # between two parts of a logical queue, where no message ever was
            return Pulled(step.at, following, b"", lost=not self._filtered and not is_gap)
        if status is PullStatus.OFFSET_MOVED and following > step.at:
            return Pulled(step.at, following, b"", lost=True)
        return Pulled(step.at, step.end, b"", lost=True)  # the queue ends before it

    def _forget_connection(self) -> None:
        try:
            self.cluster.drop(self.cluster.address(self.queue))
        except ClientError:  # no nameserver either: the next attempt will tell
            return


class _Pace:
    """How many messages one pull brings: what was asked for, unless the broker was seen to give less."""

    def __init__(self, most: int) -> None:
        self.step, self.known = most, False
        self._most, self._last_short = most, 0

    def saw(self, got: int, asked: int) -> None:
        self.known = True
        if got < asked:
            if got == self._last_short:  # twice the same: a limit on the count, not on the bytes
                self._most = max(1, got)
            self._last_short = got
            self.step = max(1, min(got, self._most))
        elif asked == self.step:
            self.step = min(self._most, self.step + self.step // 4 + 1)
