"""A store on a disk that fails, and what its clients were told.

A message is *sent* when it was handed to the store, *acknowledged* when the store's flush mode says it is safe. After
any fault the store must hold every acknowledged message where it said it was, nothing that was not sent, and serve.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from sprocketmq.errors import StoreError
from sprocketmq.protocol.record.hashing import string_hash
from sprocketmq.protocol.record.properties import encode_properties
from sprocketmq.protocol.record.record import Record, decode_records
from sprocketmq.store.config import FlushDiskType, StoreConfig
from sprocketmq.store.files.files import Files
from sprocketmq.store.store import MessageStore

ROOT = Path("/store")
TOPICS = ("Alpha", "Beta")
QUEUES = 2
FOREVER = (1 << 63) - 1


@dataclass(frozen=True)
class Place:
    topic: str
    queue_id: int
    queue_offset: int
    commit_offset: int


class TickingClock:
    """A clock that a test moves."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self.time = now_ms

    def now_ms(self) -> int:
        self.time += 1
        return self.time

    def monotonic_ms(self) -> int:
        return self.now_ms()


def small_config(**changes: object) -> StoreConfig:
    """Files so small that a few messages fill several of each kind."""
    settings: dict[str, object] = {
        "store_path_root_dir": str(ROOT),
        "mapped_file_size_commit_log": 8192,
        "mapped_file_size_consume_queue": 20 * 40,
        "max_hash_slot_num": 20,
        "max_index_num": 60,
        "flush_disk_type": FlushDiskType.SYNC_FLUSH,
    }
    return StoreConfig(**{**settings, **changes})  # type: ignore[arg-type]


@dataclass
class Ledger:
    """What was sent where, and what of it was acknowledged."""

    sent: dict[Place, bytes] = field(default_factory=dict)
    acknowledged: dict[Place, bytes] = field(default_factory=dict)
    waiting: dict[Place, bytes] = field(default_factory=dict)
    keys: dict[str, Place] = field(default_factory=dict)
    number: int = 0

    def put(self, store: MessageStore, size: int = 100, *, topic: str | None = None) -> Place | None:
        """Send one message; None when the store refuses it."""
        self.number += 1
        body = f"message {self.number} ".encode().ljust(size, b"%d" % (self.number % 10))
        topic, queue_id, key = topic or TOPICS[self.number % 2], self.number // 2 % QUEUES, f"K{self.number}"
        properties = encode_properties({"KEYS": key, "TAGS": tag_of(body)}).encode()
        at = store.log.max_offset
        try:
            result = store.put_record(Record(topic=topic, queue_id=queue_id, body=body, properties=properties))
        except StoreError:
            self.sent[Place(topic, queue_id, -1, at)] = body  # its bytes may have reached the log
            return None
        if not result.ok:
            return None
        place = Place(topic, queue_id, result.queue_offset, result.commit_offset)
        self.sent[place] = self.waiting[place] = body
        self.keys[key] = place
        return place

    def flush(self, store: MessageStore) -> None:
        """Sync the log; what is safe then is acknowledged."""
        store.flush()
        flushed = store.flushed_offset
        for place in [place for place in self.waiting if place.commit_offset < flushed]:
            self.acknowledged[place] = self.waiting.pop(place)

    def delete(self, store: MessageStore, topic: str) -> None:
        """Delete a topic: from now on nobody may see its messages again."""
        if not store.queues.of_topic(topic):
            return
        store.delete_topic(topic)
        for table in (self.sent, self.acknowledged, self.waiting):
            for place in [place for place in table if place.topic == topic]:
                del table[place]
        self.keys = {key: place for key, place in self.keys.items() if place.topic != topic}

    def flush_on_close(self) -> None:
        """A clean stop leaves nothing behind."""
        self.acknowledged |= self.waiting
        self.waiting.clear()

    def power_lost(self, store_holds: dict[Place, bytes]) -> None:
        """What recovery found is on disk now; what it did not find is free for others."""
        self.acknowledged |= {place: body for place, body in self.waiting.items() if place in store_holds}
        self.waiting.clear()
        self.sent = {place: body for place, body in self.sent.items() if place in store_holds}
        self.keys = {key: place for key, place in self.keys.items() if place in store_holds}


def tag_of(body: bytes) -> str:
    return "odd" if int(body.split()[1]) % 2 else "even"


def everything(store: MessageStore, *, trust_headers: bool = True) -> dict[Place, bytes]:
    """Every message that a consumer can read, by its place. Without trust in headers, by where it was asked for."""
    found: dict[Place, bytes] = {}
    for topic in store.queues.topics():
        for queue_id, queue in store.queues.of_topic(topic).items():
            offset = queue.min_offset
            while offset < queue.max_offset:
                result = store.get_message(topic, queue_id, offset, 32, 1 << 20)
                assert result.next_begin_offset > offset, f"stuck at {topic}/{queue_id}/{offset}: {result.status}"
                for record in decode_records(result.records):
                    assert not trust_headers or (record.topic, record.queue_id) == (topic, queue_id)
                    place = Place(topic, queue_id, record.queue_offset, record.commit_offset)
                    assert not trust_headers or place not in found, f"{place} twice"
                    found[place] = record.body
                offset = result.next_begin_offset
    return found


def open_store(files: Files, config: StoreConfig | None = None, clock: TickingClock | None = None) -> MessageStore:
    return MessageStore.open(config or small_config(), files=files, clock=clock or TickingClock(), background=False)


def check(store: MessageStore, ledger: Ledger, *, lost: frozenset[Place] = frozenset()) -> dict[Place, bytes]:
    """Nothing acknowledged is lost (but what a fault is known to have hit), nothing is invented, queues are whole."""
    found = everything(store)
    for place, body in ledger.acknowledged.items():
        if place not in lost:
            assert found.get(place) == body, f"acknowledged, and lost: {place}"
    for place, body in found.items():
        assert ledger.sent.get(place) == body, f"never sent: {place}"
    check_keys(store, ledger, {place: body for place, body in found.items() if place not in lost})
    check_tags(store, {place: body for place, body in found.items() if place not in lost})
    return found


def check_tags(store: MessageStore, found: dict[Place, bytes]) -> None:
    """Queue entries hold the tags of their messages: what filters look at."""
    for place, body in found.items():
        entry = store.reader.entry(place.topic, place.queue_id, place.queue_offset)
        assert entry is not None
        assert entry.tags_code == string_hash(tag_of(body)), f"the entry of {place} is torn"


def check_keys(store: MessageStore, ledger: Ledger, found: dict[Place, bytes]) -> None:
    """Every message can be found by its key."""
    for key, place in ledger.keys.items():
        if place in found:
            records = store.reader.query(place.topic, key, 32, 0, FOREVER)
            assert place.commit_offset in {record.commit_offset for record in records}, f"{key} is not in the index"


def check_serves(store: MessageStore, ledger: Ledger) -> None:
    """The store takes messages again and hands them out."""
    place = ledger.put(store)
    assert place is not None
    ledger.flush(store)
    assert place in ledger.acknowledged
    assert everything(store, trust_headers=False)[place] == ledger.acknowledged[place]
