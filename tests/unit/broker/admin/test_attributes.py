from __future__ import annotations

import pytest

from sprocketmq.broker.admin.attributes import TOPIC_ATTRIBUTES, altered, parse
from sprocketmq.errors import RequestRefused


def test_parse() -> None:
    assert parse("") == {}
    assert parse("+message.type=FIFO, -reserve.time") == {"+message.type": "FIFO", "-reserve.time": ""}


def test_altered() -> None:
    assert altered(TOPIC_ATTRIBUTES, None, {"+queue.type": "SimpleCQ"}) == {"queue.type": "SimpleCQ"}
    current = {"message.type": "FIFO", "reserve.time": "5"}
    assert altered(TOPIC_ATTRIBUTES, current, {"-reserve.time": ""}) == {"message.type": "FIFO"}
    assert current["reserve.time"] == "5"


@pytest.mark.parametrize(
    "change", [{"+queue.type": "BatchCQ"}, {"+reserve.time": "-2"}, {"reserve.time": "1"}, {"": ""}]
)
def test_refused(change: dict[str, str]) -> None:
    with pytest.raises(RequestRefused):
        altered(TOPIC_ATTRIBUTES, None, change)
