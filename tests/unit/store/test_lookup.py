from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.store.support import START_MS, FakeClock, bodies, open_store, put

from sprocketmq.protocol.record.hashing import tags_code
from sprocketmq.protocol.record.record import decode_records
from sprocketmq.store.lookup import Boundary
from sprocketmq.store.pull.get import GetStatus
from sprocketmq.store.queue.ext_format import ExtUnit
from sprocketmq.store.store import MessageStore


@pytest.fixture
def store(tmp_path: Path) -> MessageStore:
    clock = FakeClock()
    store = open_store(tmp_path, clock)
    for number in range(50):
        clock.now = START_MS + number // 2 * 1000
        put(store, body=b"%d" % number, TAGS="ab"[number % 2], N=str(number))
    return store


@pytest.mark.parametrize(
    ("topic", "offset", "status", "next_offset"),
    [
        ("Nowhere", 3, GetStatus.NO_MATCHED_LOGIC_QUEUE, 0),
        ("T", 50, GetStatus.OFFSET_OVERFLOW_ONE, 50),
        ("T", 99, GetStatus.OFFSET_OVERFLOW_BADLY, 50),
        ("T", -1, GetStatus.OFFSET_TOO_SMALL, 0),
        ("T", 0, GetStatus.FOUND, 20),
    ],
)
def test_a_pull_answers_with_rocketmqs_statuses(
    store: MessageStore, topic: str, offset: int, status: GetStatus, next_offset: int
) -> None:
    result = store.get_message(topic, 0, offset, 32, 1 << 20)
    assert (result.status, result.next_begin_offset) == (status, next_offset)


def test_a_queue_without_messages_says_so(store: MessageStore) -> None:
    store.watch("T", 5)
    assert store.get_message("T", 5, 0, 1, 100).status is GetStatus.NO_MESSAGE_IN_QUEUE


def test_a_pull_keeps_its_limits_but_gives_one_message_at_least(store: MessageStore) -> None:
    assert store.get_message("T", 0, 0, 3, 1 << 20).count == 3
    assert store.get_message("T", 0, 0, 32, 1).count == 1
    size = store.get_message("T", 0, 0, 1, 1).size
    assert store.get_message("T", 0, 0, 32, size * 2 + 1).count == 2


def test_neighbours_in_the_log_leave_together(store: MessageStore) -> None:
    result = store.get_message("T", 0, 0, 20, 1 << 20)
    assert result.count == 20
    assert [r.queue_offset for r in decode_records(result.records)] == list(range(20))


def test_tags_are_filtered_by_hash(store: MessageStore) -> None:
    result = store.get_message("T", 0, 0, 32, 1 << 20, frozenset({tags_code("b")}))
    assert [int(r.body) for r in decode_records(result.records)] == list(range(1, 20, 2))
    nothing = store.get_message("T", 0, 0, 32, 1 << 20, frozenset({1}))
    assert (nothing.status, nothing.next_begin_offset, nothing.count) == (GetStatus.NO_MATCHED_MESSAGE, 20, 0)


def test_a_rule_sees_the_entry_and_then_the_properties(store: MessageStore) -> None:
    class Third:
        cost = 1

        def matches_entry(self, code: int, unit: ExtUnit | None) -> bool:
            return code == tags_code("b") and unit is None

        def matches_properties(self, properties: bytes) -> bool:
            return b"N\x013\x02" in properties

    result = store.get_message("T", 0, 0, 32, 1 << 20, Third())
    assert [r.body for r in decode_records(result.records)] == [b"3"]
    assert result.next_begin_offset == 20


@pytest.mark.parametrize(("cost", "looks"), [(1 << 18, 1), (1 << 14, 16), (1, 20)])
def test_a_rule_that_costs_much_looks_at_few_messages(store: MessageStore, cost: int, looks: int) -> None:
    seen: list[bytes] = []

    class Costly:
        def __init__(self) -> None:
            self.cost = cost

        def matches_entry(self, code: int, unit: ExtUnit | None) -> bool:
            return True

        def matches_properties(self, properties: bytes) -> bool:
            seen.append(properties)
            return False

    result = store.get_message("T", 0, 0, 32, 1 << 20, Costly())
    assert (result.status, result.next_begin_offset, len(seen)) == (GetStatus.NO_MATCHED_MESSAGE, looks, looks)


def test_offsets_by_time(store: MessageStore) -> None:
    def search(seconds: float, boundary: Boundary) -> int:
        return store.reader.offset_by_time("T", 0, START_MS + int(seconds * 1000), boundary)

    assert [search(s, Boundary.LOWER) for s in (-1, 0, 3, 3.5, 24, 99)] == [0, 0, 6, 8, 48, 50]
    assert [search(s, Boundary.UPPER) for s in (-1, 0, 3, 3.5, 24, 99)] == [0, 1, 7, 7, 49, 49]
    assert store.reader.offset_by_time("Nowhere", 0, START_MS) == 0


def test_figures_of_queue_and_log(store: MessageStore) -> None:
    assert store.reader.queue_stats("T") == {0: (0, 50, START_MS + 24_000)}
    assert store.reader.earliest_time("T", 0) == START_MS
    assert store.reader.earliest_time("Nowhere", 0) == -1
    assert store.reader.log_earliest_time() == START_MS
    assert store.reader.record_at(3) is None
    assert store.reader.record_at(1 << 40) is None


def test_a_time_range_limits_a_query(tmp_path: Path) -> None:
    clock = FakeClock()
    store = open_store(tmp_path, clock)
    for number in range(100):
        clock.now = START_MS + number * 10_000
        put(store, body=b"%d" % number, KEYS="k")
    found = store.reader.query("T", "k", 64, START_MS + 200_000, START_MS + 300_000)
    assert [int(r.body) for r in found] == list(range(20, 31))
    store.close()


def test_a_slow_consumer_is_sent_to_a_slave(tmp_path: Path) -> None:
    store = open_store(tmp_path, access_message_in_memory_max_ratio=0)
    for _ in range(40):
        put(store)
    result = store.get_message("T", 0, 0, 32, 1 << 20)
    assert result.suggest_pulling_from_slave
    assert result.count == store.config.max_transfer_count_on_message_in_disk
    store.close()


def test_a_damaged_record_is_passed_over(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    offsets = [put(store, body=b"message %d" % n).commit_offset for n in range(5)]
    store.close()
    path = store.log.path_of(0)
    data = bytearray(path.read_bytes())
    data[offsets[2] + 90] ^= 1
    path.write_bytes(data)
    store = open_store(tmp_path)
    assert bodies(store) == [b"message 0", b"message 1", b"message 3", b"message 4"]
    alone = store.get_message("T", 0, 2, 1, 1 << 20)
    assert alone.next_begin_offset > 2
    store.close()


def test_a_query_by_key_gives_no_more_than_is_configured(tmp_path: Path) -> None:
    store = open_store(tmp_path, max_msgs_num_batch=3)
    for number in range(5):
        put(store, body=b"%d" % number, KEYS="k")
    assert len(store.reader.query("T", "k", 2, 0, 1 << 62)) == 2
    assert len(store.reader.query("T", "k", 32, 0, 1 << 62)) == 3
