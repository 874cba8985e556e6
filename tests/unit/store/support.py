"""A small store for tests: little files, a clock that stands still, nothing in the background."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.unit.protocol.batches import encode_batch

from sprocketmq.protocol.record.properties import encode_properties
from sprocketmq.protocol.record.record import Record, decode_records
from sprocketmq.store.config import StoreConfig
from sprocketmq.store.files.files import Files
from sprocketmq.store.log.append import PutResult
from sprocketmq.store.store import MessageStore

HOST = bytes([10, 0, 0, 1]) + (4321).to_bytes(4, "big")
START_MS = 1_700_000_000_000


class FakeClock:
    def __init__(self, now: int = START_MS) -> None:
        self.now = now

    def now_ms(self) -> int:
        return self.now

    def monotonic_ms(self) -> int:
        return self.now


def small(root: Path, **settings: Any) -> StoreConfig:
    sizes: dict[str, Any] = {
        "mapped_file_size_commit_log": 16 << 10,
        "mapped_file_size_consume_queue": 400,
        "max_hash_slot_num": 20,
        "max_index_num": 50,
        "mapped_file_size_consume_queue_ext": 4096,
    }
    return StoreConfig(store_path_root_dir=str(root), **{**sizes, **settings})


def open_store(root: Path, clock: FakeClock | None = None, files: Files | None = None, **settings: Any) -> MessageStore:
    return MessageStore.open(small(root, **settings), files=files, clock=clock or FakeClock(), background=False)


def properties(**values: str) -> bytes:
    return encode_properties(values).encode()


def put(
    store: MessageStore, topic: str = "T", queue_id: int = 0, body: bytes = b"body", sys_flag: int = 0, **values: str
) -> PutResult:
    return store.put(topic, queue_id, 0, sys_flag, body, properties(**values), START_MS, HOST, 0, 0)


def batch(*messages: tuple[bytes, bytes]) -> bytes:
    """A batch body of (body, properties)."""
    return encode_batch((9, body, text) for body, text in messages)


def read_all(store: MessageStore, topic: str = "T", queue_id: int = 0) -> list[Record]:
    """Every message of a queue, pulled as a consumer does."""
    records: list[Record] = []
    offset = store.min_offset(topic, queue_id)
    while offset < store.max_offset(topic, queue_id):
        result = store.get_message(topic, queue_id, offset, 32, 1 << 20)
        records += decode_records(result.records)
        assert result.next_begin_offset > offset
        offset = result.next_begin_offset
    return records


def bodies(store: MessageStore, topic: str = "T", queue_id: int = 0) -> list[bytes]:
    return [record.body for record in read_all(store, topic, queue_id)]


def clean(store: MessageStore) -> list[Path]:
    """A round of the cleaner, to its end."""
    removed = begin_cleaning(store)
    finish_cleaning(store)
    return removed


def begin_cleaning(store: MessageStore) -> list[Path]:
    removed = store.cleaner.run()
    store.cleaner.sync(removed)
    if removed:
        store.cleaner.drop_what_points_nowhere()
    return removed


def finish_cleaning(store: MessageStore) -> None:
    while store.cleaner.busy:
        store.cleaner.go_on()
