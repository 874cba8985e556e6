"""The user's functions: how they are called, and what their outcome means.

A handler gets one message, or a list of them when it was declared with `batch`. It may be a plain function, which runs
on a thread, or a coroutine function, which runs on the loop.
    returns None, True or SUCCESS       consumed
    returns RETRY or False, raises      tried again later
    raises or returns Retry(level)      tried again after that delay level; -1 sends it to the dead-letter queue
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextvars import copy_context
from dataclasses import dataclass
from enum import Enum
from typing import Any

from sprocketmq.client.received import ReceivedMessage

log = logging.getLogger("sprocketmq.client.push.handlers")


class ConsumeResult(Enum):
    SUCCESS = "success"
    RETRY = "retry"


class Retry(Exception):
    """Try again after delay level `level`; 0 lets the broker choose by the number of tries."""

    def __init__(self, level: int = 0, reason: str = "") -> None:
        super().__init__(reason or f"retry at delay level {level}")
        self.level = level


@dataclass(frozen=True, slots=True)
class HandlerOutcome:
    """`reason` is success, retry, exception or timeout."""

    reason: str
    level: int = 0
    error: BaseException | None = None

    @property
    def ok(self) -> bool:
        return self.reason == "success"


_OK = HandlerOutcome("success")


def check_subscribed(topic: object) -> None:
    """Raises TypeError when `@consumer.subscribe` was written without a call: then the function stands for a topic."""
    if callable(topic):
        name = getattr(topic, "__qualname__", repr(topic))
        raise TypeError(f"subscribe takes the topic: write @consumer.subscribe('orders') above {name}")


def check_function(function: object, *, takes_batch: bool) -> None:
    """Raises TypeError for what could not be called with a message; found now, not in every message's retry."""
    if not callable(function):
        raise TypeError(f"a handler is a function, not {type(function).__name__}")
    name = getattr(function, "__qualname__", repr(function))
    if any(_is_generator(called) for called in (function, type(function).__call__)):
        raise TypeError(f"handler {name} has a yield: calling it makes a generator, and its body would never run")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # some built-in functions do not tell
    try:
        signature.bind(None)
    except TypeError as error:
        wanted = "a list of messages" if takes_batch else "one message"
        raise TypeError(f"handler {name}{signature} cannot be called with {wanted}: {error}") from None


def _is_generator(function: object) -> bool:
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


@dataclass(frozen=True, slots=True)
class Handler:
    """A user's function and how to call it."""

    function: Callable[[Any], Any]
    batch_size: int = 1
    takes_batch: bool = False

    @property
    def is_async(self) -> bool:
        function = self.function
        return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)

    async def run(self, messages: Sequence[ReceivedMessage], executor: Executor, timeout: float) -> HandlerOutcome:
        """Never raises what the user's function raises; that is an outcome."""
        argument: Any = messages if self.takes_batch else messages[0]
        limit = asyncio.timeout(timeout)
        try:
            async with limit:
                if self.is_async:
                    verdict = await self.function(argument)
                else:
                    loop = asyncio.get_running_loop()
                    verdict = await loop.run_in_executor(executor, copy_context().run, _call, self.function, argument)
                    if inspect.isawaitable(verdict):
                        verdict = await verdict
        except Retry as retry:
            return HandlerOutcome("retry", retry.level, retry)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return HandlerOutcome("exception", 0, error)  # of something that the handler waited for, not of us
        except (SystemExit, KeyboardInterrupt) as error:
            if threading.current_thread() is threading.main_thread():
                raise
            return HandlerOutcome("exception", 0, _not_ended(error))
        except Exception as error:  # noqa: BLE001 - the edge: what a user's function raises is an outcome
            if isinstance(error, TimeoutError) and limit.expired():  # and not one that the handler ran into itself
                return HandlerOutcome("timeout", 3, error)
            return HandlerOutcome("exception", 0, error)
        return _judge(verdict)


def _call(function: Callable[[Any], Any], argument: Any) -> Any:
    """On a thread. What would end a program ends no thread of ours, and must not end the loop that waits for it."""
    try:
        return function(argument)
    except (SystemExit, KeyboardInterrupt) as error:
        raise _not_ended(error)  # noqa: B904 - it has its cause


def _not_ended(error: BaseException) -> RuntimeError:
    """Only the main thread ends a program. Elsewhere this would end a worker, and nobody would know."""
    raised = RuntimeError(f"the handler raised {error!r}")
    raised.__cause__ = error
    return raised


def _judge(verdict: Any) -> HandlerOutcome:
    if verdict is None or verdict is True or verdict is ConsumeResult.SUCCESS:
        return _OK
    if isinstance(verdict, Retry):
        return HandlerOutcome("retry", verdict.level)
    if verdict is False or verdict is ConsumeResult.RETRY:
        return HandlerOutcome("retry")
    if inspect.isgenerator(verdict) or inspect.isasyncgen(verdict):
        return HandlerOutcome("exception", error=TypeError(f"the handler returned {verdict!r}, whose body has not run"))
    log.warning("handler returned %r; None means consumed, ConsumeResult.RETRY means later", verdict)
    return _OK
