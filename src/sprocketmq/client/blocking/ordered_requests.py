"""Many requests on their way at once, over blocking connections, at most one per lane.

A lane is what has to stay in order: a queue. The next request of a lane goes out when the one before it is answered; a
request that fails in a way that may pass is sent again, by the same way, until its deadline.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from sprocketmq.client.blocking.connection import BlockingCluster, refused
from sprocketmq.client.errors import ClientError, Refused
from sprocketmq.client.message import SendStatus
from sprocketmq.protocol.command import Command

_STORED = frozenset(status.value for status in SendStatus)
_PAUSE_S = 0.2


@dataclass(eq=False)
class Errand:
    """A request, how it is made (anew for each attempt), and who is told the answer."""

    lane: Hashable
    address: Callable[[], str]
    command: Callable[[], Command]
    done: Callable[[Command], None]
    deadline: float = 0.0
    sent_to: str = ""


@dataclass
class Pipeline:
    """`patience` is for how many seconds an errand is tried; `width` is how many may be on their way."""

    cluster: BlockingCluster
    patience: float = 120.0
    width: int = 16
    _on_way: dict[tuple[str, int], Errand] = field(default_factory=dict)
    _lanes: set[Hashable] = field(default_factory=set)

    def submit(self, errand: Errand) -> None:
        """Send, after waiting for the lane to be free. Answers of other errands are taken meanwhile."""
        while errand.lane in self._lanes or len(self._on_way) >= self.width:
            self._take_one()
        errand.deadline = time.monotonic() + self.patience
        self._lanes.add(errand.lane)
        self._send(errand)

    def flush(self) -> None:
        """Return when every errand is answered."""
        while self._on_way:
            self._take_one()

    def _send(self, errand: Errand) -> None:
        while True:
            try:
                errand.sent_to = errand.address()
                number = self.cluster.connection(errand.sent_to).send(errand.command())
            except ClientError as error:
                self._pause(errand, error)
            else:
                self._on_way[errand.sent_to, number] = errand
                return

    def _take_one(self) -> None:
        """One answer; when the connection of the oldest errand breaks, all of that connection go out again."""
        (address, _), errand = next(iter(self._on_way.items()))
        try:
            answer = self.cluster.connection(address).receive()
        except ClientError as error:
            self._again(address, errand, error)
            return
        answered = self._on_way.pop((address, answer.opaque), None)
        if answered is None:
            return
        if answer.code in _STORED:
            self._lanes.discard(answered.lane)
            answered.done(answer)
        else:
            self._pause(answered, refused(answer, address))
            self._send(answered)

    def _again(self, address: str, errand: Errand, error: ClientError) -> None:
        self._pause(errand, error)
        lost = [key for key in self._on_way if key[0] == address]
        for one in [self._on_way.pop(key) for key in lost]:
            self._send(one)

    def _pause(self, errand: Errand, error: ClientError) -> None:
        """Wait before the next attempt; raises when there is none."""
        if not error.retriable or time.monotonic() >= errand.deadline:
            raise error
        if not isinstance(error, Refused):
            self.cluster.drop(errand.sent_to)
        time.sleep(_PAUSE_S)
