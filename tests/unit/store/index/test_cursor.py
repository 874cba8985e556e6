"""What the write end of an index says of a message's time; the rest is in `test_index`."""

from __future__ import annotations

import pytest

from sprocketmq.store.index.cursor import index_seconds

BEGIN = 1_700_000_000_000


@pytest.mark.parametrize(
    ("store_timestamp", "begin", "seconds"),
    [
        (BEGIN, BEGIN, 0),
        (BEGIN + 999, BEGIN, 0),
        (BEGIN + 1000, BEGIN, 1),
        (BEGIN - 5000, BEGIN, 0),  # the clock went back
        (BEGIN, 0, 0),  # the file has no begin yet, as in RocketMQ
        (BEGIN, -1, 0),
        (BEGIN + (1 << 50), BEGIN, 0x7FFFFFFF),
    ],
)
def test_seconds_since_the_begin_of_the_file(store_timestamp: int, begin: int, seconds: int) -> None:
    assert index_seconds(store_timestamp, begin) == seconds
