"""Kinds of messages with real clients: delays, timers, retries, order, POP and transactions outlive their broker.

One broker has all of them under way when it stops, and again when it is killed: see `outliving`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count

import pytest
from tests.interop.clients.outliving import POP_INVISIBLE_MS, POPPED, QUICK, REST_MS, TIMER_MS, Scene
from tests.peers.clients import PushConsumer
from tests.peers.fixtures import CLUSTERS, GetJavaPeer, Peer
from tests.peers.go_peer import GoPeer
from tests.peers.messages import Received, bodies
from tests.peers.process import eventually
from tests.peers.servers import Cluster
from tests.peers.toolchain import needs_tools

pytestmark = pytest.mark.interop

_NUMBERS = count(1)


@pytest.fixture(scope="module", params=CLUSTERS)
def quick_cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = CLUSTERS[request.param](tmp_path_factory.mktemp("kinds"), QUICK)
    try:
        with needs_tools():
            cluster.start()
        yield cluster
    finally:
        cluster.kill()


@pytest.fixture(scope="module")
def peers(java_peer: GetJavaPeer, go_peer: GoPeer) -> dict[str, Peer]:
    return {
        "java_498": java_peer("4.9.8", "JSON"),
        "java_533": java_peer("5.3.3", "ROCKETMQ"),
        "java_533_json": java_peer("5.3.3", "JSON"),
        "go": go_peer,
    }


@pytest.fixture(scope="module", params=["stop", "kill"])
def scene(request: pytest.FixtureRequest, quick_cluster: Cluster, peers: dict[str, Peer]) -> Iterator[Scene]:
    with ExitStack() as stack:
        scene = Scene(quick_cluster, request.param, stack, lambda prefix: f"{prefix}-kind-{next(_NUMBERS)}", peers)
        scene.play()
        yield scene


def once(messages: list[Received]) -> bool:
    return len(messages) == len({*bodies(messages)})


def test_a_delay_that_rests_meanwhile_comes_in_time_and_once(scene: Scene) -> None:
    messages = scene.rest.consumer.wait_bodies(scene.rest.expected)
    rested = [message for message in messages if message.body != b"first"]
    assert all(message.store_timestamp - message.born_timestamp >= REST_MS for message in rested)
    assert once(messages) or not scene.exact


def test_delays_that_are_being_delivered_come_once(scene: Scene) -> None:
    messages = scene.middle.consumer.wait_bodies(scene.middle.expected)
    assert once(messages) or not scene.exact


def test_timers_come_in_time_and_once_and_recalled_ones_do_not(scene: Scene) -> None:
    messages = scene.timers.consumer.wait_bodies(scene.timers.expected)
    timed = [message for message in messages if message.body != b"first"]
    assert all(message.store_timestamp - message.born_timestamp >= TIMER_MS for message in timed)
    # It was due before the others. Apache's broker, killed before it noted the recall, reads of it after it is due.
    assert b"recalled" not in bodies(messages) or not scene.exact
    assert once(messages) or scene.cluster.kind == "apache"


@pytest.mark.parametrize("client", ["java_498", "java_533", "go"])
def test_a_failed_message_is_consumed_at_its_second_try(scene: Scene, client: str) -> None:
    messages = scene.retries[client].consumer.wait_bodies([b"last"])
    tries = sorted((message.body, message.reconsume_times) for message in messages if message.body[:5] == b"retry")
    expected = [(f"retry-{number}".encode(), times) for number in range(4) for times in (0, 1)]
    assert tries == expected if scene.exact else {*tries} >= {*expected}


@pytest.mark.parametrize("client", ["java_498", "java_533"])
def test_a_message_that_always_fails_ends_as_a_dead_letter(scene: Scene, client: str) -> None:
    case = scene.dead[client]
    tries = {message.reconsume_times for message in case.consumer.wait_until(was_tried_thrice)}
    assert tries >= {0, 1, 2}  # a client whose return is not answered in time tries again by itself, and counts it
    undertaker = scene.consumer(scene.peers[client], f"%DLQ%{case.consumer.group}")
    dead = undertaker.wait(1)[0]
    assert (dead.body, dead.tags) == (b"poison", "A")


def was_tried_thrice(messages: list[Received]) -> bool:
    return any(message.reconsume_times == 2 for message in messages)


def test_orderly_consumers_lock_their_queues_again(scene: Scene) -> None:
    one, other = scene.order.consumers
    expected = {b"first", *scene.order.expected}
    eventually(lambda: expected <= {*bodies(one.received()), *bodies(other.received())}, "all of them, between both")
    for consumer, neighbour in ((one, other), (other, one)):
        for offsets in first_offsets_by_queue(consumer, neighbour).values():
            assert offsets == sorted(offsets)


def first_offsets_by_queue(consumer: PushConsumer, neighbour: PushConsumer) -> dict[int, list[int]]:
    """In the order of their coming. What was not committed may come again, to whoever has the queue then: what both
    have had says nothing of the order.
    """
    found: dict[int, list[int]] = {}
    twice = {(message.queue_id, message.queue_offset) for message in neighbour.received()}
    for message in consumer.received():
        seen = found.setdefault(message.queue_id, [])
        if message.queue_offset not in seen and (message.queue_id, message.queue_offset) not in twice:
            seen.append(message.queue_offset)
    return found


def test_what_was_popped_and_not_acknowledged_comes_again(scene: Scene) -> None:
    messages = scene.pop.consumer.wait_bodies(scene.pop.expected, 180)
    again = scene.pop.consumer.wait_until(
        lambda all_: len({m.body for m in all_ if m.reconsume_times == 1}) >= POPPED, 90
    )
    assert {*bodies(messages)} == {*scene.pop.expected}
    given_back = [message for message in again if message.reconsume_times == 1]
    assert all(message.store_timestamp >= scene.pop.popped_ms + POP_INVISIBLE_MS for message in given_back)


@pytest.mark.parametrize("client", ["java_498", "java_533", "go"])
def test_open_transactions_end_as_their_producers_say_later(scene: Scene, client: str) -> None:
    case = scene.transactions[client]
    messages = case.consumer.wait_bodies([*case.done, *case.open])
    assert {*bodies(messages)} == {b"first", *case.done, *case.open}
    # Apache's broker may ask again, and deliver again, while its marks are not written yet.
    assert once(messages) or scene.cluster.kind == "apache"


def test_transactions_under_load_are_neither_lost_nor_made_up(scene: Scene) -> None:
    load, consumer = scene.load.transactions, scene.load.consumer
    messages = consumer.wait_bodies(load.committed())
    if scene.cluster.kind == "sprocket":
        before = scene.messages_in(scene.load.topic)
        load.commit_again(scene.cluster.broker.address, messages)
        assert scene.messages_in(scene.load.topic) == before
    assert {*bodies(consumer.received())} - {b"first"} <= load.may_come()
    assert once(consumer.received()) or scene.cluster.kind == "apache"
