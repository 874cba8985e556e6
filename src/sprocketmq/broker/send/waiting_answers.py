# cython: annotation_typing=False
"""Answers that wait until their messages are safe.

    waiting    in the order of the log, until it is safe up to where their messages end
    unsaved    for these it is, and their topic is new: it is not on disk yet, in the table of topics

One that cannot be given ends its connection, and keeps nobody else from an answer. What goes to one connection at once
leaves in one write.

Where senders wait for the disk every message passes here, so this is compiled.
"""

from __future__ import annotations

from collections.abc import Callable

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.broker.metrics.counter import Counter
from sprocketmq.broker.tables.saver import Saver
from sprocketmq.logs import Events
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder
from sprocketmq.remoting import Connection

if not cython.compiled:
    from sprocketmq.hot.memory import nanoseconds

events = Events("sprocketmq.broker.send")


class WaitingAnswer:
    """
    end_offset    where its messages end in the log
    change        of the table of topics, to wait for as well; 0 for none
    since         by the clock of the loop
    success       what `connection` hears in answer to `request` when all is safe; `counter` hears how long that took
    """

    end_offset: int
    change: int
    since: float
    connection: Connection
    request: Command
    success: bytes
    counter: Counter | None

    def succeed(self, now: float) -> None:
        if self.counter is not None:
            self.counter.micros += nanoseconds(now - self.since) // 1000
        self.reply(self.success)

    def fail(self, code: int, remark: str) -> None:
        self.reply(changed_answer(self.success, code, remark))

    def reply(self, answer: bytes | Command) -> None:
        try:
            self.connection.reply(answer, self.request)
        except Exception as error:  # noqa: BLE001 - the edge of the loop
            events.error("answer not given", error, peer=self.connection.peer)
            self.connection.abort("an answer could not be given")


class WaitingAnswers:
    def __init__(self, topics: Saver) -> None:
        #: The clock of the loop, when there is one.
        self.time: Callable[[], float] | None = None
        self._topics = topics
        self._waiting: list[WaitingAnswer] = []
        self._unsaved: list[WaitingAnswer] = []

    def __len__(self) -> int:
        return len(self._waiting) + len(self._unsaved)

    @property
    def first(self) -> WaitingAnswer | None:
        """The one that waits longest for the log."""
        return self._waiting[0] if self._waiting else None

    @property
    def first_unsaved(self) -> WaitingAnswer | None:
        return self._unsaved[0] if self._unsaved else None

    def add(
        self, end_offset: int, connection: Connection, request: Command, success: bytes, counter: Counter | None
    ) -> int:
        """Say `success` when the log is safe up to `end_offset`, no less than that of the one before; how many wait.

        The request keeps no body: it is in the log.
        """
        request.body = b""
        answer = WaitingAnswer.__new__(WaitingAnswer)  # compiled, assignments cost less than a constructor
        answer.end_offset = end_offset
        answer.change = 0
        answer.since = self.time()  # type: ignore[misc]  # nobody sends before there is a loop
        answer.connection = connection
        answer.request = request
        answer.success = success
        answer.counter = counter
        self._waiting.append(answer)
        return len(self._waiting) + len(self._unsaved)

    def wait_for_topic(self, change: int) -> None:
        """The answer that was added last goes out when this change of the table of topics is on disk as well."""
        last = self._waiting[len(self._waiting) - 1]
        last.change = change

    def succeed(self, safe: int, now: float) -> None:
        """The log is safe up to there."""
        waiting, saved, answered = self._waiting, self._topics.saved_changes, 0
        try:
            for answer in waiting:
                if answer.end_offset > safe:
                    break
                if answer.change > saved:
                    self._unsaved.append(answer)
                else:
                    answer.succeed(now)
                answered += 1
        finally:  # whatever fails, nobody is answered twice, and the next look answers the others
            del waiting[:answered]

    def succeed_saved(self, now: float) -> None:
        """More of the changes of the topics are on disk."""
        saved = self._topics.saved_changes
        for answer in self._unsaved.copy():
            if answer.change <= saved:
                answer.succeed(now)
                self._unsaved.remove(answer)

    def fail_first(self, code: int, remark: str) -> None:
        answer = self._waiting.pop(0)
        answer.fail(code, remark)

    def fail_first_unsaved(self, code: int, remark: str) -> None:
        answer = self._unsaved.pop(0)
        answer.fail(code, remark)


def changed_answer(success: bytes, code: int, remark: str) -> Command:
    """The answer that was to be given, with another code: what it says of the message is true all the same."""
    (answer,) = FrameDecoder().feed(success)
    answer.code = code
    answer.remark = remark
    answer.body = b""  # messages that POP took are given when that they were taken is safe
    return answer
