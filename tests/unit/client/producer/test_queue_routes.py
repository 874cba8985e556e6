from __future__ import annotations

import dataclasses

import pytest
from tests.unit.client.fakes import FakeTransport, route

from sprocketmq.client.cluster.route import Route
from sprocketmq.client.errors import Unreachable
from sprocketmq.client.producer.queue_routes import QueueRoutes, in_turn
from sprocketmq.client.settings import ProducerSettings
from sprocketmq.protocol.message_queue import MessageQueue

QUEUES = [MessageQueue("T", broker, number) for broker in ("a", "b") for number in range(2)]


def routes(transport: FakeTransport | None = None) -> QueueRoutes:
    return QueueRoutes(transport or FakeTransport(), "g", ProducerSettings())


def test_they_last_as_long_as_the_route_of_their_topic() -> None:
    made = routes()
    old, new = (Route.of("T", route("a", queues=queues)) for queues in (2, 3))
    first = made.of(old)
    assert made.of(old) is first
    assert [one.address for one in first.in_order] == ["a:10911", "a:10911"]
    assert [one.queue for one in made.of(new).in_order] == list(new.write_queues)
    assert set(made.of(new).by_queue) == set(new.write_queues)


def test_the_turn_goes_on_with_a_new_route() -> None:
    made = routes()
    made.of(Route.of("T", route("a", queues=2))).turn = 41
    assert made.of(Route.of("T", route("a", queues=2))).turn == 41


def test_many_that_send_once_spread_over_the_queues() -> None:
    known = Route.of("T", route("a", queues=4))
    assert {routes().of(known).turn % 4 for _ in range(200)} == {0, 1, 2, 3}


def test_a_queue_whose_master_is_away_has_no_turn() -> None:
    made = routes().of(dataclasses.replace(Route.of("T", route("a", queues=1)), order_conf="a:1;b:1"))
    assert [one.broker_name for one in made.in_order] == ["a"]
    assert made.next("a", None).broker_name == "a"
    with pytest.raises(Unreachable, match="b cannot be reached: its master is not in the route"):
        made.to(MessageQueue("T", "b", 0))


def test_no_master_at_all() -> None:
    made = routes().of(dataclasses.replace(Route.of("T", route("a", queues=1)), order_conf="b:1"))
    with pytest.raises(Unreachable, match="b cannot be reached"):
        made.next(None, None)


def test_a_queue_that_the_route_does_not_list() -> None:
    """The broker may know better; if not, it is the broker that refuses."""
    found = routes().of(Route.of("T", route("a", queues=1))).to(MessageQueue("T", "a", 99))
    assert (found.address, found.queue.queue_id) == ("a:10911", 99)


async def test_a_connection_is_kept_until_it_ends() -> None:
    transport = FakeTransport()
    (made,) = routes(transport).of(Route.of("T", route("a", queues=1))).in_order
    assert made.connection() is None
    transport.is_connected = True
    first = made.connection()
    assert first is not None
    assert made.connection() is first
    first.closed = True
    assert made.connection() not in (None, first)


def test_every_queue_has_its_turn() -> None:
    assert [in_turn(QUEUES, turn) for turn in range(5)] == [*QUEUES, QUEUES[0]]


def test_the_broker_that_has_just_failed_is_avoided() -> None:
    assert {in_turn(QUEUES, turn, "a").broker_name for turn in range(4)} == {"b"}
    assert in_turn(QUEUES[:2], 3, "a") == QUEUES[1], "there is no other"


def test_brokers_that_are_not_available() -> None:
    assert {in_turn(QUEUES, turn, None, lambda name: name == "a").broker_name for turn in range(4)} == {"a"}
    assert in_turn(QUEUES, 2, "a", lambda name: name == "a").broker_name == "a", "the only one that is available"
    assert in_turn(QUEUES, 2, None, lambda _: False) == QUEUES[2], "sending somewhere beats not sending"
