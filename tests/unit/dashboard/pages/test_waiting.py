"""What waits: delays, timers, transactions and POP, made by real clients."""

from __future__ import annotations

import asyncio
import threading

import pytest
from tests.unit.dashboard.site import Site

from sprocketmq import Message
from sprocketmq import Producer as AsyncProducer
from sprocketmq.client.sync import Producer, PushConsumer
from sprocketmq.dashboard.cluster.view import ClusterView
from sprocketmq.testing import EmbeddedCluster


def test_delays_and_timers(site: Site, producer: Producer) -> None:
    producer.send(Message("later", b"at a level", delay_level=14))
    for seconds in (300, 7200):
        producer.send(Message("later", b"at a time", delay=seconds))
    shown = site.get("/waiting")
    assert "<td>10m</td>" in shown
    assert "<dt>Due within ten minutes</dt><dd><span>1<" in shown
    assert "<dt>Due within a day</dt><dd><span>1<" in shown
    assert "later</a> 2" in shown, "the count by topic"


def test_open_transactions(site: Site, console_cluster: EmbeddedCluster) -> None:
    async def leave_open() -> str:
        async with AsyncProducer("tellers", console_cluster.nameserver) as producer:
            async with producer.transaction(Message("paid", b"ended")):
                pass
            transaction = producer.transaction(Message("paid", b"open"))
            async with transaction:
                await transaction.leave_open()
            return transaction.receipt.message_id

    message_id = asyncio.run(leave_open())
    shown = site.get("/waiting")
    assert message_id in shown
    assert shown.count("<td>tellers</td>") == 1, "the other one has ended"


def test_pop_in_flight(site: Site, producer: Producer, console_cluster: EmbeddedCluster) -> None:
    held, done = threading.Event(), threading.Event()
    consumer = PushConsumer("poppers", console_cluster.nameserver, pop=True)

    @consumer.subscribe("popped")
    def handle(_message: object) -> None:
        held.set()
        assert done.wait(60)

    producer.send(Message("popped", b"x"))
    with consumer:
        assert held.wait(60)
        try:
            shown = site.get("/waiting")
            assert '<a href="/groups/poppers">poppers</a></th>' in shown
        finally:
            done.set()


def test_check_again_wants_a_message_that_is_there(site: Site) -> None:
    assert "Offset: expected a whole number" in site.post("/waiting/check", 400, broker="broker-a", offset="-9")


def test_nobody_who_tells_is_not_nothing_that_waits(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClusterView, "masters", lambda _view: asyncio.sleep(0, {}))
    shown = site.get("/waiting", 503)
    assert "no nameserver knows a master" in shown
    assert "No transaction is open" not in shown
