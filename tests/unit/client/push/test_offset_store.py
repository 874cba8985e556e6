from __future__ import annotations

import asyncio
import logging

import pytest
from tests.unit.client.fakes import FakeQueues, FakeTransport, instance, until

from sprocketmq.client.cluster import queue_offsets
from sprocketmq.client.errors import ClientError, Refused, TimedOut, Unreachable
from sprocketmq.client.push.offset_store import BrokerOffsets
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue

UPDATE = RequestCode.UPDATE_CONSUMER_OFFSET
FIRST, SECOND = MessageQueue("T", "a", 0), MessageQueue("T", "a", 1)


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_offsets, "_PAUSE_S", 0.0)


class Network:
    """A broker that keeps offsets, and fails so many commits of the first queue before it does."""

    def __init__(self, error: ClientError | None = None, failures: int = 0) -> None:
        self.transport = FakeTransport()
        self.broker = FakeQueues(self.transport)
        self.transport.answers[UPDATE] = self.update
        self.store = BrokerOffsets(instance(self.transport), "g")
        self._error, self._failures = error, failures

    def update(self, address: str, command: Command) -> Command:
        if self._error is not None and self._failures > 0 and (command.ext_fields or {})["queueId"] == "0":
            self._failures -= 1
            raise self._error
        return self.broker.update_offset(address, command)

    def commits(self) -> list[tuple[str, str]]:
        asked = [command.ext_fields or {} for command in self.transport.commands(UPDATE)]
        return [(ext["queueId"], ext["commitOffset"]) for ext in asked]


async def test_writes_what_has_changed() -> None:
    network = Network()
    network.store.note(FIRST, 5)
    network.store.note(SECOND, 7)
    await network.store.persist([FIRST])
    await network.store.persist()
    await network.store.persist()
    assert network.commits() == [("0", "5"), ("1", "7")]


@pytest.mark.parametrize("error", [TimedOut("no answer"), Unreachable("a", "reset"), Refused(2, "busy")], ids=repr)
async def test_the_last_commit_is_tried_again_until_it_is_there(error: ClientError) -> None:
    network = Network(error, failures=2)
    network.store.note(FIRST, 5)
    network.store.note(SECOND, 7)
    await network.store.persist(last_within=60)
    assert network.broker.committed == {("T", 0): 5, ("T", 1): 7}
    assert network.commits() == [("0", "5"), ("1", "7"), ("0", "5"), ("0", "5")]


async def test_a_commit_that_comes_again_by_itself_is_tried_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    network = Network(TimedOut("no answer"), failures=1)
    network.store.note(FIRST, 5)
    await network.store.persist()
    assert [record.levelname for record in caplog.records if "not committed" in record.message] == ["INFO"]
    await network.store.persist()
    assert network.broker.committed == {("T", 0): 5}


async def test_a_refusal_for_good_is_told_at_once(caplog: pytest.LogCaptureFixture) -> None:
    network = Network(Refused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "who"), failures=9)
    network.store.note(FIRST, 5)
    network.store.note(SECOND, 7)
    await network.store.persist(last_within=60)
    assert network.broker.committed == {("T", 1): 7}
    (told,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert "group=g" in told.message
    assert f"queue={FIRST} offset=5 committed=None" in told.message


async def test_one_commit_of_a_queue_at_a_time() -> None:
    """A broker with many threads may carry two out in either order: the older offset must not come last."""
    network, gate = Network(), asyncio.Event()

    async def slow(address: str, command: Command) -> Command:
        await gate.wait()
        return network.broker.update_offset(address, command)

    network.transport.answers[UPDATE] = slow
    network.store.note(FIRST, 2)
    tick = asyncio.ensure_future(network.store.persist())
    await until(lambda: network.commits() == [("0", "2")])
    network.store.note(FIRST, 13)
    stop = asyncio.ensure_future(network.store.persist(last_within=60))
    for _ in range(20):
        await asyncio.sleep(0)
    assert network.commits() == [("0", "2")]
    gate.set()
    await asyncio.gather(tick, stop)
    assert network.commits() == [("0", "2"), ("0", "13")]
    assert network.broker.committed == {("T", 0): 13}
