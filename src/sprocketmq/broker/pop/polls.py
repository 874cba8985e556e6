"""POP requests that found nothing and wait for a message in any of several queues, while their connection lives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from sprocketmq.broker.pull.long_polling import LongPolls
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.system_topics.safe_answers import SafeAnswers
from sprocketmq.protocol.command import Command
from sprocketmq.remoting import Connection
from sprocketmq.remoting.handlers import refusal

Place = tuple[str, int]


class Waiting:
    """`look` answers when there is something, and, told that it is late, in any case. It keeps the request's
    fields, and a filter of `filter_bytes`.
    """

    def __init__(
        self, connection: Connection, request: Command, look: Callable[[bool], Command | None],
        places: Sequence[Place], filter_bytes: int = 0,
    ) -> None:  # fmt: skip
        self.request = request
        self.connection = connection
        self.look = look
        self.places = places
        self.kept_bytes = filter_bytes + sum(map(len, (request.ext_fields or {}).values()))
        self.woken = False
        self.timer: asyncio.TimerHandle | None = None


class PopPolls:
    def __init__(self, settings: Settings, long_polls: LongPolls, answers: SafeAnswers) -> None:
        self._settings = settings
        self._answers = answers
        self._long_polls = long_polls
        self._places: dict[Place, set[Waiting]] = {}
        self._waiting: set[Waiting] = set()
        self._all = long_polls.waiting
        self._woken = long_polls.woken

    def __len__(self) -> int:
        return len(self._waiting)

    def count(self, places: Sequence[Place]) -> int:
        return len({waiting for place in places for waiting in self._places.get(place, ())})

    def park(self, waiting: Waiting, asked_ms: int) -> bool:
        """Have it wait as long as it asked for, within what is allowed.

        False when too many wait already, on the whole or on one of its queues.
        """
        config = self._settings.current
        crowded = any(len(self._places.get(place, ())) >= config.pop_polling_size for place in waiting.places)
        if crowded or len(self._waiting) >= config.max_pop_polling_size or self._all.is_full(waiting.connection):
            return False
        waiting.request.body, waiting.request.ext_fields = b"", None  # of no use for the answer
        self._waiting.add(waiting)
        self._all.add(waiting.connection, waiting, self._forget)
        self._all.kept_bytes += waiting.kept_bytes
        for place in waiting.places:
            if place not in self._places:
                self._places[place] = set()
                self._long_polls.listen(*place, self.wake)
            self._places[place].add(waiting)
        seconds = config.polling_seconds(asked_ms)
        waiting.timer = asyncio.get_running_loop().call_later(seconds, self._serve, waiting, True)
        return True

    def wake_all(self) -> None:
        """Answer everyone now: the broker is stopping."""
        for waiting in list(self._waiting):
            self._serve(waiting, True)

    def wake(self, topic: str, queue_id: int) -> None:
        """A message has come, or may be taken again: those who wait look, a few in each turn of the loop."""
        for waiting in self._places.get((topic, queue_id), ()):
            if not waiting.woken:
                waiting.woken = True
                self._woken.add(waiting.connection, partial(self._serve, waiting, False))

    def _serve(self, waiting: Waiting, late: bool) -> int:
        if waiting not in self._waiting:
            return 0
        waiting.woken = False
        try:
            reply = waiting.look(late)
        except Exception as error:  # noqa: BLE001 - the edge of the loop: it is answered as when it came
            reply = refusal(waiting.request, error, waiting.connection)
        if reply is None:
            return 0
        self._forget(waiting)
        self._answers.send(waiting.connection, waiting.request, reply)
        return len(reply.body)

    def _forget(self, waiting: Waiting) -> None:
        self._waiting.discard(waiting)
        self._all.discard(waiting.connection, waiting)
        self._all.kept_bytes -= waiting.kept_bytes
        if waiting.timer is not None:
            waiting.timer.cancel()
        for place in waiting.places:
            others = self._places.get(place)
            if others is not None:
                others.discard(waiting)
                if not others:
                    del self._places[place]
                    self._long_polls.unlisten(*place)
