"""What clients did and what they were told, event by event.

    invoke   a client begins a call                      ok     it was told that it is done
    info     nobody can say whether it happened          fail   it was told that it did not happen, and never will

Only what a mode promises is `ok`: SEND_OK is, FLUSH_DISK_TIMEOUT, SLAVE_NOT_AVAILABLE and a lost connection are `info`.
A call that never ends is `info` as well. A process has one call at a time. Times are those of the checker's clock,
which nobody sets. What the calls are and which fields they have:

    send      topic queue uids [epoch]               -> offset      of the first; a batch has several uids
    read      topic queue at [node] [final]          -> found upto [least]   (offset, uid) pairs in at <= offset < upto
    end       topic queue                            -> offset      where the queue ends
    commit    group topic queue offset                              `fetch` asks for it -> offset
    half      topic uid                                             `decide` uid commit (true or false)
    delay     topic uid delay_ms                                    `recall` uid
    retry     group uid                                             sent back: must come again, read from `%RETRY%group`
    pop       group topic invisible_ms               -> uids [copies]   `renew` and `ack`: group uid [invisible_ms]
    create    topic                                                 `delete` topic
    lock      group topic queue lease_ms                            `unlock`
    handle    group topic queue uid                                 from the begin of an orderly handler to its end
    sink      topic query batch uids                                one exactly-once batch; tried again under its name
    lead      node epoch                                            who was elected, told by itself or by a controller
    log       node digests                                          hashes of equal pieces of its confirmed log
    fault     kind                                                  from its beginning until everybody is served again
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TextIO


class Kind(StrEnum):
    INVOKE = "invoke"
    OK = "ok"
    FAIL = "fail"
    INFO = "info"


#: Behind every event, for a call that has not ended.
NEVER = 1 << 62


@dataclass(slots=True)
class Call:
    """One call. `begun` and `ended` are places in the order of all events, `begun_ms` and `ended_ms` times."""

    name: str
    process: str
    begun: int
    begun_ms: int
    fields: dict[str, Any]
    kind: Kind = Kind.INFO
    ended: int = NEVER
    ended_ms: int = NEVER

    def __getitem__(self, key: str) -> Any:
        return self.fields[key]

    @property
    def is_ok(self) -> bool:
        return self.kind is Kind.OK

    def before(self, other: Call) -> bool:
        """Whether it had ended when the other began."""
        return self.ended < other.begun

    def __str__(self) -> str:
        said = " ".join(f"{key}={value}" for key, value in self.fields.items() if key not in ("found", "digests"))
        return (
            f"{self.process} {self.name} {said} [{self.begun}..{self.ended if self.ended < NEVER else ''}] {self.kind}"
        )


@dataclass
class History:
    """Calls in the order in which they began. With `sink`, each event is a line of JSON there before anything else."""

    now_ms: Callable[[], int]
    sink: TextIO | None = None
    calls: list[Call] = field(default_factory=list)
    events: int = 0

    def begin(self, process: str, name: str, **fields: Any) -> OpenCall:
        number, now = self._next(), self.now_ms()
        call = Call(name, process, number, now, fields)
        self._write(number, now, process, name, Kind.INVOKE, fields)
        self.calls.append(call)
        return OpenCall(self, call)

    def of(self, *names: str) -> Iterator[Call]:
        return (call for call in self.calls if call.name in names)

    def ok(self, *names: str) -> Iterator[Call]:
        return (call for call in self.of(*names) if call.is_ok)

    def _end(self, call: Call, kind: Kind, fields: dict[str, Any]) -> None:
        assert call.ended == NEVER, f"{call} has ended already"
        call.kind, call.ended, call.ended_ms = kind, self._next(), self.now_ms()
        call.fields |= fields
        self._write(call.ended, call.ended_ms, call.process, call.name, kind, fields, call.begun)

    def _next(self) -> int:
        self.events += 1
        return self.events

    def _write(
        self, number: int, now: int, process: str, name: str, kind: Kind, fields: dict[str, Any], of: int | None = None
    ) -> None:
        if self.sink is not None:
            line = {"n": number, "ms": now, "process": process, "call": name, "kind": kind, "of": of, **fields}
            self.sink.write(json.dumps(line) + "\n")
            self.sink.flush()


@dataclass(slots=True)
class OpenCall:
    """A call under way; ends once."""

    history: History
    call: Call

    def ok(self, **fields: Any) -> None:
        self.history._end(self.call, Kind.OK, fields)

    def fail(self, **fields: Any) -> None:
        self.history._end(self.call, Kind.FAIL, fields)

    def info(self, **fields: Any) -> None:
        self.history._end(self.call, Kind.INFO, fields)


def merge(*written: Iterable[str]) -> History:
    """One history of what several processes wrote, ordered by time; their clocks must be one, as on one machine."""
    lines = [(json.loads(line), source) for source, lines in enumerate(written) for line in lines]
    lines.sort(key=lambda one: (one[0]["ms"], one[1], one[0]["n"]))
    history, opened, now = History(lambda: now_ms[0]), {}, 0
    now_ms = [now]
    for line, source in lines:
        said = {key: value for key, value in line.items() if key not in ("n", "ms", "process", "call", "kind", "of")}
        now_ms[0] = line["ms"]
        if line["kind"] == Kind.INVOKE:
            opened[source, line["n"]] = history.begin(line["process"], line["call"], **said)
        else:
            history._end(opened[source, line["of"]].call, Kind(line["kind"]), said)
    return history
