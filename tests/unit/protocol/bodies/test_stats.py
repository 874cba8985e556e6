from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from sprocketmq.protocol.bodies import decode
from sprocketmq.protocol.bodies.stats import QueueTimeSpan


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("utc")
def test_times_are_also_told_in_words() -> None:
    span = QueueTimeSpan(min_time_stamp=2, max_time_stamp=1_794_769_231_477)
    assert span.min_time_stamp_str == "1970-01-01#00:00:00:002"
    assert span.max_time_stamp_str == "2026-11-15#19:00:31:477"


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63)])
def test_any_number_a_peer_sends_is_told_somehow(number: int) -> None:
    assert decode(QueueTimeSpan, f'{{"minTimeStamp":{number}}}').min_time_stamp_str
