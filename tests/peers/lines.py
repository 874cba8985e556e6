"""A peer that reads commands and writes answers and events as JSON, one object per line.

    to the peer     {"id": 1, "op": NAME, ...}
    from the peer   {"id": 1, "result": VALUE} | {"id": 1, "error": {"type", "message", "code"}}
                    {"event": NAME, "client": ID, ...}

A reader thread hands answers to their callers and events to the inbox of their client.  Calls block: an asyncio test
wraps them in `asyncio.to_thread`.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from itertools import count
from pathlib import Path
from typing import Any

from tests.peers.process import PeerFailed, Process

Event = dict[str, Any]


class PeerError(Exception):
    """The real client threw; `code` is RocketMQ's response code where the exception carries one."""

    def __init__(self, kind: str, message: str, code: int | None) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind, self.message, self.code = kind, message, code


class Inbox:
    """The events of one client, in order of arrival."""

    def __init__(self) -> None:
        self._arrived = threading.Condition()
        self._events: list[Event] = []

    def put(self, event: Event) -> None:
        with self._arrived:
            self._events.append(event)
            self._arrived.notify_all()

    def all(self, name: str | None = None) -> list[Event]:
        with self._arrived:
            return [event for event in self._events if name in (None, event["event"])]

    def wait(self, name: str, until: Callable[[list[Event]], bool], timeout: float) -> list[Event]:
        """The events called `name` as soon as `until` is content with them; fails at the deadline, saying what came."""
        deadline = time.monotonic() + timeout
        with self._arrived:
            while not until(events := [event for event in self._events if event["event"] == name]):
                if not self._arrived.wait(deadline - time.monotonic()):
                    raise PeerFailed(f"{len(events)} {name!r} events in {timeout} s, not what was awaited")
            return events


class LinePeer:
    """The process and its two streams."""

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        directory: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self._numbers = count(1)
        self._waiting: dict[int, Future[Any]] = {}
        self._inboxes: dict[str, Inbox] = {}
        self._writing = threading.Lock()
        log = directory / "console.log"
        self.process = Process(command, log, cwd=directory, environment=environment, piped=True)
        self._reader = threading.Thread(target=self._read, name=f"{name}-reader", daemon=True)
        self._reader.start()

    def inbox(self, prefix: str) -> tuple[str, Inbox]:
        """A new client id and where its events will arrive."""
        client = f"{prefix}{next(self._numbers)}"
        self._inboxes[client] = inbox = Inbox()
        return client, inbox

    def start(self, op: str, **arguments: Any) -> Future[Any]:
        """Send a command; the answer comes in the future."""
        number = next(self._numbers)
        answer: Future[Any] = Future()
        self._waiting[number] = answer
        line = json.dumps({"id": number, "op": op, **arguments}).encode() + b"\n"
        assert self.process.child.stdin is not None
        try:
            with self._writing:
                self.process.child.stdin.write(line)
                self.process.child.stdin.flush()
        except (BrokenPipeError, ValueError):
            self._waiting.pop(number, None)
            raise PeerFailed(f"{self.name} is gone\n{self.process.tail()}") from None
        return answer

    def call(self, op: str, *, wait: float = 120, **arguments: Any) -> Any:
        """Send a command and wait for its answer; raises `PeerError` with what the client threw."""
        try:
            return self.start(op, **arguments).result(wait)
        except TimeoutError:
            raise PeerFailed(f"{self.name} did not answer {op!r} in {wait} s\n{self.process.tail()}") from None

    def close(self) -> None:
        """End of input ends the program; one that lingers is killed."""
        if self.process.child.stdin is not None and not self.process.child.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self.process.child.stdin.close()
        self._reader.join(5)
        self.process.kill()
        self._reader.join(5)

    def _read(self) -> None:
        stream = self.process.child.stdout
        assert stream is not None
        with stream:
            for line in stream:
                self._deliver(json.loads(line))
        for number in list(self._waiting):
            if answer := self._waiting.pop(number, None):
                answer.set_exception(PeerFailed(f"{self.name} ended\n{self.process.tail()}"))

    def _deliver(self, line: dict[str, Any]) -> None:
        if "event" in line:
            if inbox := self._inboxes.get(line["client"]):
                inbox.put(line)
            return
        answer = self._waiting.pop(line["id"], None)
        if answer is None:
            return
        if error := line.get("error"):
            answer.set_exception(PeerError(error["type"], error["message"], error.get("code")))
        else:
            answer.set_result(line.get("result"))
