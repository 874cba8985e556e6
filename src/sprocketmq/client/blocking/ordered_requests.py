"""Many requests on their way at once, over blocking connections, in order where that matters.

Requests with one `key`, that of a queue, follow one another: the next goes out when the one before it is answered. A
request that fails in a way that may pass is sent again, under the same key, until its deadline.

A send is done when the broker says SEND_OK. "Stored, may be lost" (the disk, or a slave, did not confirm in time) is
not: it goes again, as Kafka's producers do where too few replicas have a batch. Each attempt stores the messages once
more, so the pause before the next one grows.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, field

from sprocketmq.client.blocking.connection import BlockingCluster, BlockingConnection, refused
from sprocketmq.client.errors import ClientError, Refused
from sprocketmq.client.message import SendStatus
from sprocketmq.protocol.command import Command

STORED: frozenset[int] = frozenset(status.value for status in SendStatus)
SAFE: frozenset[int] = frozenset({SendStatus.OK.value})
_IN_DOUBT = STORED - SAFE
_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 5.0


class OrderedRequest(ABC):
    """A request that knows where it goes and how it is written, for each attempt anew.

    `done_codes` are the answers after which it is done; `doubts` counts those that left it in doubt.
    """

    __slots__ = ("deadline", "done_codes", "doubts", "key", "sent_to")

    def __init__(self, key: Hashable, done_codes: frozenset[int] = SAFE) -> None:
        self.key = key
        self.done_codes = done_codes
        self.deadline = 0.0
        self.doubts = 0
        self.sent_to = ""

    @abstractmethod
    def address(self, cluster: BlockingCluster) -> str:
        """Where it goes now."""

    @abstractmethod
    def write(self, connection: BlockingConnection) -> int:
        """Send it; the number by which its answer is known."""

    @abstractmethod
    def answered(self, answer: Command) -> None:
        """It is done; the answer says so."""


@dataclass
class Pipeline:
    """`patience` is for how many seconds a request is tried; `width` is how many may be on their way."""

    cluster: BlockingCluster
    patience: float = 120.0
    width: int = 16
    _on_way: dict[tuple[str, int], OrderedRequest] = field(default_factory=dict)
    _busy: set[Hashable] = field(default_factory=set)

    def submit(self, request: OrderedRequest) -> None:
        """Send, after waiting for the answer to the one before it. Answers to others are taken meanwhile."""
        while request.key in self._busy or len(self._on_way) >= self.width:
            self._take_one()
        request.deadline = time.monotonic() + self.patience
        self._busy.add(request.key)
        self._send(request)

    def flush(self) -> None:
        """Return when every request is answered."""
        while self._on_way:
            self._take_one()

    def _send(self, request: OrderedRequest) -> None:
        while True:
            try:
                request.sent_to = request.address(self.cluster)
                number = request.write(self.cluster.connection(request.sent_to))
            except ClientError as error:
                self._pause(request, error)
            else:
                self._on_way[request.sent_to, number] = request
                return

    def _take_one(self) -> None:
        """One answer; when the connection of the oldest request breaks, all of that connection go out again."""
        (address, _), request = next(iter(self._on_way.items()))
        try:
            answer = self.cluster.connection(address).receive()
        except ClientError as error:
            self._again(address, request, error)
            return
        answered = self._on_way.pop((address, answer.opaque), None)
        if answered is None:
            return
        if answer.code in answered.done_codes:
            self._busy.discard(answered.key)
            answered.answered(answer)
        else:
            self._pause(answered, refused(answer, address))
            self._send(answered)

    def _again(self, address: str, request: OrderedRequest, error: ClientError) -> None:
        self._pause(request, error)
        lost = [key for key in self._on_way if key[0] == address]
        for one in [self._on_way.pop(key) for key in lost]:
            self._send(one)

    def _pause(self, request: OrderedRequest, error: ClientError) -> None:
        """Wait before the next attempt; raises when there is none."""
        if not may_pass(error) or time.monotonic() >= request.deadline:
            raise error
        if not isinstance(error, Refused):
            self.cluster.drop(request.sent_to)
        time.sleep(min(_PAUSE_S * 2**request.doubts, _LONGEST_PAUSE_S))
        request.doubts += is_in_doubt(error)


def may_pass(error: ClientError) -> bool:
    """Whether the same request may be done when it is sent again."""
    return error.retriable or is_in_doubt(error)


def is_in_doubt(error: ClientError) -> bool:
    """Whether the broker has it, and does not know that it will keep it."""
    return isinstance(error, Refused) and error.code in _IN_DOUBT
