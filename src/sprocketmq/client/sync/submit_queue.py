"""Messages on their way from any thread into a producer's automatic batching.

    put, on any thread   -> a slot, then the line   -> one task on the loop   -> the producer's buffer
A thread waits while every slot is taken, so what waits is bounded; the line keeps the order of each thread's messages
also when the buffer was full; and the loop is woken once for all that lie in the line, not once per message.
What was submitted is sent also when the program ends without a flush or a stop. What could not be sent is told at
WARNING, for many never look at their futures.
A future can be cancelled while its message is in the line: then the message is not sent. After that it runs, and brings
what became of the message.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures.thread  # noqa: F401 - it must be known at the end before we are: see below
import functools
import logging
import os
import threading
from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING
from weakref import WeakSet

from sprocketmq.client.cluster.repeated_warnings import RepeatedWarnings
from sprocketmq.client.errors import Closed
from sprocketmq.client.sync import loop_thread

if TYPE_CHECKING:
    from sprocketmq.client.message import Message, SendReceipt
    from sprocketmq.client.producer.producer import Producer

log = logging.getLogger("sprocketmq.client.sync.submit_queue")


class Feed:
    """The line in front of one producer."""

    def __init__(self, producer: Producer) -> None:
        self.producer = producer
        self._slots = threading.BoundedSemaphore(producer.settings.batching.buffer_messages)
        self._line: deque[tuple[Message, Future[SendReceipt]]] = deque()
        self._awake = False
        self._lock = threading.Lock()
        self.failed = 0  # messages that got an error in place of a receipt
        self._notices = RepeatedWarnings(log)
        _feeds.add(self)

    def put(self, message: Message) -> Future[SendReceipt]:
        """The future of the message's receipt; waits while too many are without one."""
        self._slots.acquire()
        future: Future[SendReceipt] = Future()
        with self._lock:
            self._line.append((message, future))
            wake, self._awake = not self._awake, True
        if wake:
            loop_thread.loop_thread().submit(self._empty())
        return future

    async def flush(self) -> None:
        """Return when everything that was put has its receipt or its error."""
        while self._awake:  # noqa: ASYNC110 - the task that empties it runs meanwhile
            await asyncio.sleep(0)
        await self.producer.flush()

    async def _empty(self) -> None:
        emptied = False
        try:
            while (head := self._next()) is not None:
                await self._pass_on(*head)
            emptied = True
        finally:
            if not emptied:  # otherwise `_next` has said so, and another task may be awake by now
                with self._lock:
                    self._awake = False

    async def _pass_on(self, message: Message, future: Future[SendReceipt]) -> None:
        """Whatever happens to this message, those behind it go on."""
        if not future.set_running_or_notify_cancel():
            self._slots.release()
            return
        try:
            receipt = await self.producer.enqueue(message)
        except BaseException as error:
            self._fail(future, error)
            if not isinstance(error, Exception):
                raise
        else:
            receipt.add_done_callback(functools.partial(self._settle, future))

    def _next(self) -> tuple[Message, Future[SendReceipt]] | None:
        with self._lock:
            if self._line:
                return self._line.popleft()
            self._awake = False
            return None

    def _settle(self, future: Future[SendReceipt], done: asyncio.Future[SendReceipt]) -> None:
        if done.cancelled():
            self._fail(future, Closed("the producer was stopped"))
        elif (error := done.exception()) is not None:
            self._fail(future, error)
        else:
            self._slots.release()
            future.set_result(done.result())

    def _fail(self, future: Future[SendReceipt], error: BaseException) -> None:
        self.failed += 1
        self._notices.tell(type(error).__name__, "a submitted message was not sent error=%s", error)
        self._slots.release()
        future.set_exception(error)


#: Each lives as long as one of its messages is without a receipt. A forked child has none of its parent's.
_feeds: WeakSet[Feed] = WeakSet()

if hasattr(os, "register_at_fork"):  # not where there are no forks
    os.register_at_fork(after_in_child=_feeds.clear)


def _send_the_rest() -> None:
    """When the program ends: waits as long as the deliveries may take, or until it is interrupted."""
    for feed in list(_feeds):
        failed = feed.failed
        try:
            loop_thread.loop_thread().run(feed.flush())
        except KeyboardInterrupt:
            log.warning("interrupted before all submitted messages were sent")
        if feed.failed > failed:
            log.warning("messages were not sent when the program ended count=%d", feed.failed - failed)


# Names are looked up on threads, and those are gone when the functions of atexit are called: for threads of the program
# that submit until then. The door before has no public name; who came last goes through it first.
atexit.register(_send_the_rest)
getattr(threading, "_register_atexit", atexit.register)(_send_the_rest)
