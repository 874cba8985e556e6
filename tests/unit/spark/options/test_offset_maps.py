"""Offset maps as JSON."""

from __future__ import annotations

import pytest

from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.spark.options.offset_maps import decode_offsets, decode_queues, encode_offsets
from sprocketmq.spark.options.options import OptionError

Q0, Q1, Q2 = (MessageQueue("orders", "broker-a", number) for number in range(3))


def test_offsets_travel_as_json() -> None:
    offsets = {Q1: 4, Q0: 3, MessageQueue("paid", "broker-b", 7): 0}
    encoded = {"orders": {"broker-a": {"0": 3, "1": 4}}, "paid": {"broker-b": {"7": 0}}}
    assert encode_offsets(offsets) == encoded
    assert decode_offsets(encoded) == offsets


@pytest.mark.parametrize("given", [3, [], {"orders": 3}, {"orders": {"b": [1]}}, {"orders": {"b": {"x": 1}}}, None])
def test_other_json_is_refused_by_the_options_name(given: object) -> None:
    with pytest.raises(OptionError, match="option 'startingOffsets' is JSON like"):
        decode_offsets(given, "startingOffsets")


def test_assigned_queues() -> None:
    assert decode_queues({"orders": {"broker-a": [2, 0]}}, "assign") == [Q0, Q2]
    with pytest.raises(OptionError, match="'assign'"):
        decode_queues({"orders": [1]}, "assign")
