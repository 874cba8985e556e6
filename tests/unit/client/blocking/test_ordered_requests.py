"""Order and second attempts, by a cluster whose answers are written down beforehand."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from sprocketmq.client.blocking import ordered_requests
from sprocketmq.client.blocking.ordered_requests import SAFE, STORED, OrderedRequest, Pipeline
from sprocketmq.client.errors import ClientError, Refused, Unreachable
from sprocketmq.codes import ResponseCode
from sprocketmq.protocol.command import Command


class Cluster:
    """One connection. `answers` are told for the requests in their order: a code, or an error."""

    def __init__(self, *answers: int | ClientError) -> None:
        self.written: list[str] = []
        self.dropped: list[str] = []
        self._answers = deque(answers)
        self._waiting: deque[int] = deque()

    def connection(self, _address: str) -> Cluster:
        return self

    def drop(self, address: str) -> None:
        self.dropped.append(address)
        self._waiting.clear()

    def write(self, name: str) -> int:
        self.written.append(name)
        self._waiting.append(len(self.written))
        return len(self.written)

    def receive(self) -> Command:
        answer = self._answers.popleft() if self._answers else 0
        if isinstance(answer, ClientError):
            raise answer
        return Command(answer, opaque=self._waiting.popleft())


class Named(OrderedRequest):
    def __init__(self, name: str, key: str, done: Callable[[str], None], done_codes: frozenset[int] = SAFE) -> None:
        super().__init__(key, done_codes)
        self._name, self._done = name, done

    def address(self, cluster: Any) -> str:
        return "here:1"

    def write(self, connection: Any) -> int:
        number: int = connection.write(self._name)
        return number

    def answered(self, answer: Command) -> None:
        self._done(self._name)


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordered_requests, "_PAUSE_S", 0)


def run(cluster: Cluster, *names: str, patience: float = 60, width: int = 16) -> list[str]:
    """Requests whose key is the first letter of their name; those that were answered, in that order."""
    done: list[str] = []
    pipeline = Pipeline(cluster, patience, width)  # type: ignore[arg-type]
    for name in names:
        pipeline.submit(Named(name, name[0], done.append))
    pipeline.flush()
    return done


def test_one_per_key_is_on_its_way() -> None:
    cluster = Cluster()
    assert run(cluster, "a1", "b1", "a2", "b2") == ["a1", "b1", "a2", "b2"]
    done: list[str] = []
    pipeline = Pipeline(cluster, 60)  # type: ignore[arg-type]
    for name in ("a3", "b3"):
        pipeline.submit(Named(name, name[0], done.append))
    assert done == [], "nobody has asked for an answer"
    pipeline.submit(Named("a4", "a", done.append))
    assert done == ["a3"], "the one before it is stored"


def test_no_more_than_the_width() -> None:
    done: list[str] = []
    pipeline = Pipeline(Cluster(), 60, width=2)  # type: ignore[arg-type]
    for name in ("a", "b", "c"):
        pipeline.submit(Named(name, name, done.append))
    assert done == ["a"]


def test_what_is_refused_for_now_goes_again_before_what_follows_it() -> None:
    cluster = Cluster(ResponseCode.SYSTEM_BUSY)
    assert run(cluster, "a1", "b1", "a2") == ["b1", "a1", "a2"]
    assert cluster.written == ["a1", "b1", "a1", "a2"]
    assert cluster.dropped == []


def test_when_a_connection_breaks_all_of_it_goes_again() -> None:
    cluster = Cluster(Unreachable("here:1", "reset"))
    assert run(cluster, "a1", "b1") == ["a1", "b1"]
    assert cluster.written == ["a1", "b1", "a1", "b1"]
    assert cluster.dropped == ["here:1"]


@pytest.mark.parametrize(("code", "patience"), [(ResponseCode.MESSAGE_ILLEGAL, 60), (ResponseCode.SYSTEM_BUSY, 0)])
def test_what_cannot_help_any_more_is_raised(code: ResponseCode, patience: float) -> None:
    with pytest.raises(Refused):
        run(Cluster(code), "a1", patience=patience)


IN_DOUBT = [ResponseCode.FLUSH_DISK_TIMEOUT, ResponseCode.SLAVE_NOT_AVAILABLE, ResponseCode.FLUSH_SLAVE_TIMEOUT]


@pytest.mark.parametrize("code", IN_DOUBT)
def test_what_is_stored_and_not_safe_goes_again_before_what_follows_it(code: ResponseCode) -> None:
    cluster = Cluster(code, code)
    assert run(cluster, "a1", "a2") == ["a1", "a2"]
    assert cluster.written == ["a1", "a1", "a1", "a2"]
    assert cluster.dropped == []


@pytest.mark.parametrize("code", IN_DOUBT)
def test_what_does_not_become_safe_in_time_fails_by_its_name(code: ResponseCode) -> None:
    with pytest.raises(Refused, match=code.name):
        run(Cluster(code), "a1", patience=0)


def test_the_pause_grows_with_the_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(ordered_requests, "_PAUSE_S", 0.2)
    monkeypatch.setattr(time, "sleep", pauses.append)
    run(Cluster(*[ResponseCode.SLAVE_NOT_AVAILABLE] * 7, ResponseCode.SYSTEM_BUSY), "a1")
    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]


def test_an_end_of_a_transaction_may_be_done_in_doubt() -> None:
    done: list[str] = []
    ends = Pipeline(Cluster(ResponseCode.SLAVE_NOT_AVAILABLE), 0)  # type: ignore[arg-type]
    ends.submit(Named("rollback", "q", done.append, STORED))
    ends.flush()
    assert done == ["rollback"]
