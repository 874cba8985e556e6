from __future__ import annotations

from tests.unit.client.fakes import FakeTransport, route

from sprocketmq.client.cluster.route import Route
from sprocketmq.client.producer.straight import Lanes
from sprocketmq.client.settings import ProducerSettings


def test_lanes_last_as_long_as_their_route() -> None:
    lanes = Lanes(FakeTransport(), "g", ProducerSettings())
    old, new = Route.of("T", route("a", queues=2)), Route.of("T", route("a", "b", queues=2))
    first = lanes.of(old)
    assert lanes.of(old) is first
    assert [lane.address for lane in first.in_order] == ["a:10911", "a:10911"]
    assert [lane.queue for lane in lanes.of(new).in_order] == list(new.write_queues)
    assert set(lanes.of(new).by_queue) == set(new.write_queues)


def test_the_turn_goes_on_when_the_route_is_fetched_again() -> None:
    lanes = Lanes(FakeTransport(), "g", ProducerSettings())
    lanes.of(Route.of("T", route("a", queues=2))).turn = 41
    assert lanes.of(Route.of("T", route("a", queues=2))).turn == 41


def test_producers_that_send_once_do_not_all_begin_with_one_queue() -> None:
    known = Route.of("T", route("a", queues=4))
    begins = {Lanes(FakeTransport(), "g", ProducerSettings()).of(known).turn % 4 for _ in range(200)}
    assert begins == {0, 1, 2, 3}


def test_a_queue_without_a_master_has_none() -> None:
    ordered = Route("T", {"a": {0: "a:1"}}, {}, {"a": 1}, {}, order_conf="a:1;gone:1")
    made = Lanes(FakeTransport(), "g", ProducerSettings()).of(ordered)
    assert [lane.queue.broker_name for lane in made.in_order] == ["a"]


async def test_a_lane_is_open_while_its_broker_is_connected() -> None:
    transport = FakeTransport()
    (lane,) = Lanes(transport, "g", ProducerSettings()).of(Route.of("T", route("a", queues=1))).in_order
    assert lane.connection() is None
    transport.is_straight = True
    assert lane.connection() is not None
