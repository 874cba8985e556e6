from __future__ import annotations

from sprocketmq.nameserver.topics import TopicDirectory
from sprocketmq.protocol.bodies.route import QueueData


def test_a_topic_lives_as_long_as_one_broker_has_it() -> None:
    table = TopicDirectory()
    for broker in ("a", "b"):
        table.put("orders", QueueData(broker_name=broker, perm=6))
    table.drop("orders", "a")
    assert table.names() == {"orders"}
    table.drop_broker("b")
    assert table.names() == frozenset()


def test_the_version_moves_with_changes_only() -> None:
    table = TopicDirectory()
    table.put("orders", QueueData(broker_name="a", perm=6))
    before = table.version
    table.put("orders", QueueData(broker_name="a", perm=6))
    assert table.version == before
    table.set_writable("a", False)
    assert table.version > before


def test_topics_by_flag() -> None:
    table = TopicDirectory()
    for flag in range(4):
        table.put(f"flag{flag}", QueueData(broker_name="a", topic_sys_flag=flag))
    assert table.by_flag(lambda flag: bool(flag & 1)) == {"flag1", "flag3"}
