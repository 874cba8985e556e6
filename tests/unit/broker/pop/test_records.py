from __future__ import annotations

import json

import pytest

from sprocketmq.broker.pop.records import (
    CheckPoint,
    ExtraInfo,
    PopAck,
    parse_extra_info,
    topic_of,
)
from sprocketmq.errors import RequestRefused

POINT = CheckPoint(
    start_offset=10, pop_time=1000, invisible_time=500, topic="T", group="G", queue_id=2, broker_name="b",
    offsets=[10, 12], acked=set(),
)  # fmt: skip


def test_check_points_have_rocketmqs_keys() -> None:
    body = json.loads(POINT.encode())
    assert body == {
        "so": 10, "pt": 1000, "it": 500, "bm": 0, "n": 2, "q": 2, "t": "T", "c": "G", "ro": 0, "d": [0, 2], "bn": "b",
    }  # fmt: skip
    assert CheckPoint.decode(body) == POINT
    assert POINT.unique_key == "T@2@10@G@1000@b@ck"
    assert POINT.revive_time == 1500


def test_a_check_point_without_distances_counts_on_from_its_start() -> None:
    body = {"so": 3, "pt": 1, "it": 1, "bm": 2, "n": 3, "q": 0, "t": "T", "c": "G"}
    found = CheckPoint.decode(body)
    assert (found.offsets, found.acked) == ([3, 4, 5], {4})


@pytest.mark.parametrize(("offsets", "tag"), [((12,), "ack"), ((10, 12), "bAck")])
def test_acknowledgements_find_their_check_point(offsets: tuple[int, ...], tag: str) -> None:
    ack = PopAck(offsets=offsets, start_offset=10, topic="T", group="G", queue_id=2, pop_time=1000, broker_name="b")
    assert (ack.tag, ack.key) == (tag, POINT.key)
    assert PopAck.decode(json.loads(ack.encode())) == ack


def test_extra_info_is_one_line() -> None:
    info = ExtraInfo(
        start_offset=10, pop_time=1000, invisible_time=500, revive_queue_id=3, retry_flag="1", broker_name="b",
        queue_id=0, queue_offset=12,
    )  # fmt: skip
    assert str(info) == "10 1000 500 3 1 b 0 12"
    assert parse_extra_info(str(info)) == info
    assert parse_extra_info("10 1000 500 3 1 b 0").queue_offset == -1
    assert info.real_topic("T", "G") == "%RETRY%G_T"


@pytest.mark.parametrize(
    "text", ["10 x", f"{2**63} 1 1 0 0 b 0", f"0 {-(2**63) - 1} 1 0 0 b 0", f"0 1 1 0 0 b 0 {10**99}"]
)
def test_no_extra_info(text: str) -> None:
    with pytest.raises(RequestRefused):
        parse_extra_info(text)


def test_topics_by_retry_flag() -> None:
    assert [topic_of("T", "G", flag) for flag in "012"] == ["T", "%RETRY%G_T", "%RETRY%G+T"]
    assert topic_of("%RETRY%G_T", "G", "1") == "%RETRY%G_T"
