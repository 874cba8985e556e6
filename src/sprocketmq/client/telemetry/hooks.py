"""Where others look on: tracing, metrics, tests. A hook sees each send and each consume, before and after.

After a send there is a receipt or an error; after one that asks for no answer there is neither when it went out.
`context.properties` may be added to before a send: what is put there travels with the message.
A hook must be quick and must not raise; when it does, the error is logged and the message goes on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from sprocketmq.client.message import Message, SendReceipt
from sprocketmq.client.received import ReceivedMessage
from sprocketmq.protocol.message_queue import MessageQueue

log = logging.getLogger("sprocketmq.client.telemetry.hooks")


@dataclass(slots=True)
class SendContext:
    """One send, of one message or of a batch."""

    group: str
    topic: str
    messages: Sequence[Message]
    kind: str = "normal"  # normal, delay, order, half, batch, reply
    properties: dict[str, str] = field(default_factory=dict)
    queue: MessageQueue | None = None
    address: str = ""
    receipt: SendReceipt | None = None
    error: BaseException | None = None
    started: float = field(default_factory=time.time)
    ended: float = 0.0
    state: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class ConsumeContext:
    """One call of a handler."""

    group: str
    topic: str
    messages: Sequence[ReceivedMessage]
    queue: MessageQueue | None = None
    result: str = ""
    error: BaseException | None = None
    started: float = field(default_factory=time.time)
    ended: float = 0.0
    state: dict[str, Any] = field(default_factory=dict)


class SendHook(Protocol):
    def before_send(self, context: SendContext) -> None: ...

    def after_send(self, context: SendContext) -> None: ...


class SendHooks:
    """The hooks of one producer group."""

    def __init__(self, group: str, hooks: Sequence[SendHook]) -> None:
        self._group = group
        self._hooks = list(hooks)

    @contextmanager
    def observed(self, topic: str, messages: Sequence[Message], kind: str = "normal") -> Iterator[SendContext]:
        """One send in the eyes of the hooks.

        The block sends, with the properties that they have added, and leaves its receipt in the context. However it
        is left, by an error or a cancellation too, the hooks hear of the end.
        """
        context = self.begin(topic, messages, kind)
        try:
            yield context
        except BaseException as error:
            self.end(context, error=error)
            raise
        self.end(context, receipt=context.receipt)

    def begin(self, topic: str, messages: Sequence[Message], kind: str = "normal") -> SendContext:
        context = SendContext(self._group, topic, messages, kind)
        run_hooks([hook.before_send for hook in self._hooks], context)
        return context

    def end(self, context: SendContext, receipt: SendReceipt | None = None, error: BaseException | None = None) -> None:
        context.receipt, context.error, context.ended = receipt, error, time.time()
        if receipt is not None:
            context.queue = receipt.queue
        run_hooks([hook.after_send for hook in self._hooks], context)


class ConsumeHook(Protocol):
    def before_consume(self, context: ConsumeContext) -> None: ...

    def after_consume(self, context: ConsumeContext) -> None: ...


def checked_hooks(given: Any, *methods: str) -> list[Any]:
    """The hooks that a client is given; TypeError for one without these methods."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"hooks must be a list, not {type(given).__name__}")
    hooks = list(given)
    for hook in hooks:
        for method in methods:
            if not callable(getattr(hook, method, None)):
                raise TypeError(f"hooks: {hook!r} has no method {method}")
    return hooks


def checked_trace(given: Any) -> bool | str:
    """True, or the trace topic's name; False for no trace."""
    if not isinstance(given, (bool, str)):
        raise TypeError(f"trace must be True, False or the name of a topic, not {type(given).__name__}")
    return given


def kind_of(message: Message) -> str:
    """Of a message that is sent by itself."""
    return "delay" if message.is_delayed else "normal"


def run_hooks(calls: Iterable[Callable[[Any], None]], context: SendContext | ConsumeContext) -> None:
    for call in calls:
        try:
            call(context)
        except Exception:
            log.exception("hook %r failed", call)
