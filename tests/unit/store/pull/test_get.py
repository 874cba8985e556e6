"""What a pull finds at each place of a queue; which records it brings is tested where stores are written or damaged."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.store.support import open_store, put

from sprocketmq.store.pull.get import GetStatus

MANY = 1 << 20


@pytest.mark.parametrize(
    ("offset", "status", "goes_on_at"),
    [
        (0, GetStatus.FOUND, 3),
        (2, GetStatus.FOUND, 3),
        (3, GetStatus.OFFSET_OVERFLOW_ONE, 3),
        (4, GetStatus.OFFSET_OVERFLOW_BADLY, 3),
        (-1, GetStatus.OFFSET_TOO_SMALL, 0),
    ],
)
def test_where_a_pull_goes_on(tmp_path: Path, offset: int, status: GetStatus, goes_on_at: int) -> None:
    store = open_store(tmp_path)
    for number in range(3):
        put(store, body=b"%d" % number)
    result = store.get_message("T", 0, offset, 32, MANY)
    assert (result.status, result.next_begin_offset) == (status, goes_on_at)
    assert (result.min_offset, result.max_offset) == (0, 3)
    store.close()


@pytest.mark.parametrize("readable", [0, 1])
def test_a_place_that_is_written_and_cannot_be_read_yet_is_waited_at(tmp_path: Path, readable: int) -> None:
    """Another broker may have given it to the consumer, before this one became the master."""
    store = open_store(tmp_path)
    for number in range(readable):
        put(store, body=b"%d" % number)
    store.readable.limit(store.log.max_offset)
    for number in range(readable, 3):
        put(store, body=b"%d" % number)
    for offset in (2, 3):
        result = store.get_message("T", 0, offset, 32, MANY)
        assert (result.status, result.next_begin_offset) == (GetStatus.OFFSET_OVERFLOW_ONE, offset)
    assert store.get_message("T", 0, 4, 32, MANY).next_begin_offset == readable
    store.close()


def test_queues_that_have_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store)
    store.watch("T", 1, True)
    assert store.get_message("none", 0, 0, 32, MANY).status is GetStatus.NO_MATCHED_LOGIC_QUEUE
    assert store.get_message("T", 1, 0, 32, MANY).status is GetStatus.NO_MESSAGE_IN_QUEUE
    store.close()


@pytest.mark.parametrize(("count", "size", "found"), [(2, MANY, 2), (32, 1, 1), (32, MANY, 3)])
def test_limits_of_count_and_bytes(tmp_path: Path, count: int, size: int, found: int) -> None:
    """The first message is given whatever its size: else nobody could ever read it."""
    store = open_store(tmp_path)
    for _ in range(3):
        put(store, body=bytes(200))
    result = store.get_message("T", 0, 0, count, size)
    assert (result.count, result.next_begin_offset) == (found, found)
    store.close()


def test_tags_by_their_codes(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, TAGS="a")
    put(store, TAGS="b")
    codes = {ord("b")}  # the hash of one letter is the letter
    result = store.get_message("T", 0, 0, 32, MANY, codes)
    assert (result.status, result.count, result.next_begin_offset) == (GetStatus.FOUND, 1, 2)
    nothing = store.get_message("T", 0, 0, 32, MANY, {1})
    assert (nothing.status, nothing.next_begin_offset) == (GetStatus.NO_MATCHED_MESSAGE, 2)
    store.close()
