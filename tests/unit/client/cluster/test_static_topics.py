from __future__ import annotations

from dataclasses import replace

from tests.unit.client.fakes import route

from sprocketmq.client.cluster.route import Route
from sprocketmq.client.cluster.static_topics import in_logical_queue, leaders
from sprocketmq.client.received import split_records
from sprocketmq.protocol.bodies.route import TopicQueueMappingInfo
from sprocketmq.protocol.record.record import Record, encode_record


def info(bname: str, epoch: int, *queues: int) -> TopicQueueMappingInfo:
    return TopicQueueMappingInfo(
        topic="T", total_queues=3, bname=bname, epoch=epoch, curr_id_map=dict.fromkeys(queues, 9)
    )


def test_records_get_their_place_in_the_logical_queue() -> None:
    stored = [Record(topic="T", body=b"%d" % n, queue_id=9, queue_offset=n) for n in range(3)]
    data = b"".join(map(encode_record, stored))
    found = split_records(in_logical_queue(data, 2, 500), "a")
    assert [(each.queue.queue_id, each.queue_offset, each.body) for each in found] == [
        (2, 500, b"0"), (2, 501, b"1"), (2, 502, b"2"),
    ]  # fmt: skip
    assert in_logical_queue(b"", 2, 500) == b""


def test_the_later_mapping_counts() -> None:
    assert leaders({"a": info("a", 1, 0, 1, 2), "b": info("b", 2, 1)}) == {"a": (0, 2), "b": (1,)}
    assert leaders({}) == {}


def test_the_queues_of_a_static_topic_are_its_logical_ones() -> None:
    moved = {"a": info("a", 2, 2), "b": info("b", 2, 0, 1)}
    made = Route.of("T", replace(route("a", "b", queues=8), topic_queue_mapping_by_broker=moved))
    assert [str(queue) for queue in made.write_queues] == ["T@b:0", "T@b:1", "T@a:2"]  # as Java sees them
    assert made.read_queues == made.write_queues
