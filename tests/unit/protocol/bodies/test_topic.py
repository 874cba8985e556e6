from __future__ import annotations

import pytest

from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.protocol.bodies.topic import TopicConfig


@pytest.mark.parametrize(
    ("perm", "can"),
    [(0, (False, False, False)), (2, (False, True, False)), (4, (True, False, False)), (7, (True, True, True))],
)
def test_permissions(perm: int, can: tuple[bool, bool, bool]) -> None:
    topic = TopicConfig(topic_name="T", perm=perm)
    assert (topic.readable, topic.writable, topic.inherited) == can


def test_a_change_makes_the_next_version() -> None:
    version = DataVersion(state_version=7, timestamp=1, counter=4)
    assert version.next(99) == DataVersion(state_version=7, timestamp=99, counter=5)
