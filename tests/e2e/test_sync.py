"""The facade for threads: one producer for many of them, across forks, and with bounded buffers."""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable

import pytest
from tests.peers.servers import Cluster

from sprocketmq.client import Batching, Message, ProducerSettings, PullSettings, ReceivedMessage
from sprocketmq.client.sync import Producer, PullConsumer

pytestmark = pytest.mark.interop

Unique = Callable[[str], str]
THREADS = 8


def read(cluster: Cluster, group: str, topic: str, count: int) -> list[ReceivedMessage]:
    """In the order of their places; one that came twice counts once, for a rebalance may bring it again."""
    with PullConsumer(group, cluster.address, settings=PullSettings(consume_from="first")) as consumer:
        consumer.subscribe(topic)
        found: dict[tuple[int, int], ReceivedMessage] = {}
        for batch in consumer.batches():
            found |= {(message.queue_id, message.queue_offset): message for message in batch}
            if len(found) >= count:
                break
    return [found[place] for place in sorted(found)]


def fork(work: Callable[[], None]) -> int:
    """The id of a child that does `work`; its exit code is 0 when that went well."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001 - a child must not go on with the tests of its parent
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


def in_threads(work: Callable[[int], None]) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # newer Pythons warn of forks with threads
def test_parent_and_forked_children_send_with_one_producer(cluster: Cluster, unique: Unique) -> None:
    topic = unique("topic")
    with Producer(unique("pg"), cluster.address) as producer:
        producer.send(Message(topic, b"before"))

        def work(name: str) -> None:
            in_threads(lambda number: assert_ok(producer, topic, b"%s-%d" % (name.encode(), number)))
            producer.submit(Message(topic, b"%s-submitted" % name.encode())).result(60)

        def child(name: str) -> None:
            work(name)
            producer.stop()

        children = [fork(lambda name=name: child(name)) for name in ("one", "two")]  # type: ignore[misc]
        work("parent")
        for pid in children:
            assert os.waitpid(pid, 0)[1] == 0
        producer.send(Message(topic, b"after"))
    names = (b"parent", b"one", b"two")
    wanted = {b"%s-%d" % (name, number) for name in names for number in range(THREADS)}
    wanted |= {b"before", b"after"} | {b"%s-submitted" % name for name in names}
    found = read(cluster, unique("g"), topic, len(wanted))
    assert {message.body for message in found} == wanted
    assert len({message.message_id for message in found}) == len(wanted)


def assert_ok(producer: Producer, topic: str, body: bytes) -> None:
    assert producer.send(Message(topic, body)).ok


def test_many_threads_submit_in_order_through_a_small_buffer(cluster: Cluster, unique: Unique) -> None:
    topic, count = unique("topic"), 300
    settings = ProducerSettings(batching=Batching(buffer_messages=20, max_messages=7))
    most = 0
    with Producer(unique("pg"), cluster.address, settings=settings) as producer:
        producer.send(Message(topic, b"0", sharding_key="first"))

        def work(number: int) -> None:
            nonlocal most
            key, waiting = f"thread-{number}", []
            for i in range(count):
                waiting.append(producer.submit(Message(topic, b"%d" % i, sharding_key=key)))
                most = max(most, sum(not future.done() for future in waiting))
            assert all(future.result(60).ok for future in waiting)

        in_threads(work)
    found = read(cluster, unique("g"), topic, THREADS * count + 1)
    by_key: dict[str | None, list[int]] = {}
    for message in found:
        by_key.setdefault(message.sharding_key, []).append(int(message.body))
    del by_key["first"]
    assert by_key == {f"thread-{number}": list(range(count)) for number in range(THREADS)}
    assert most <= 20 + 7, "but for a batch whose room is given back while its futures are told"
