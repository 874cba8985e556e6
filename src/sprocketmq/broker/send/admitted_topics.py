# cython: annotation_typing=False
"""The topics that sends have been admitted to: the kept answer to "may it, and what does it want?"

`admission` asks the question, and fills these; the handler of sends looks here first. An answer holds until something
changes that it rests on; then all are forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sprocketmq.broker.metrics.counter import Counter, LargeMessages


class TopicAdmission:
    """
    queues     how many the topic has; a queue id below that is taken as it is
    counters   what has been put to each queue
    large      the large messages among it
    special    whatever is sent to the topic passes the interceptors
    is_new     the send that asked has made the topic, or another did and it is not on disk yet
    takes      answers in the place of this broker's queues; None where they do
    """

    def __init__(
        self, queues: int, counters: list[Counter], large: LargeMessages, *, special: bool = False,
        is_new: bool = False, takes: Callable[[Any, Any], Any] | None = None,
    ) -> None:  # fmt: skip
        self.queues = queues
        self.counters = counters
        self.large = large
        self.special = special
        self.is_new = is_new
        self.takes = takes


class AdmittedTopics:
    """`is_open` is false while no kept answer counts, and each send must ask.

    It is closed when `waiting_limit` answers wait for the disk.
    """

    def __init__(self) -> None:
        self.is_open = True
        self.waiting_limit = 0
        self.topics: dict[str, TopicAdmission] = {}
