from __future__ import annotations

from sprocketmq.dashboard.cluster.browse import decode, encode
from sprocketmq.protocol.message_queue import MessageQueue

ENDS = {MessageQueue("t", "a:b", 0): (5, 10), MessageQueue("t", "a:b", 1): (0, 3)}


def test_places_travel_in_an_address() -> None:
    places = {queue: end for queue, (_, end) in ENDS.items()}
    assert encode(places) == "a:b:0:10~a:b:1:3"
    assert decode("t", encode(places), ENDS) == places


def test_places_that_are_not_there_are_moved_or_left_out() -> None:
    assert decode("t", "a:b:0:1~a:b:7:1~a:b:1:99", ENDS) == dict(zip(ENDS, (5, 3), strict=True))
    for text in ("", "nonsense", "a:0:-1", "a:0:" + "9" * 30, "x:0:1"):
        assert decode("t", text, ENDS) is None
