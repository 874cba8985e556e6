from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.store.support import HOST, START_MS, batch, open_store, put

from sprocketmq.protocol.record.hashing import tags_code
from sprocketmq.store.offline.verify import verify
from sprocketmq.store.store import MessageStore
from sprocketmq.store.view import StoreView


def code(store: MessageStore, offset: int, topic: str = "T", queue_id: int = 0) -> int:
    entry = store.reader.entry(topic, queue_id, offset)
    assert entry is not None
    return entry.tags_code


@pytest.mark.parametrize("tag", ["TagA", "tag-with-höhe", "标签", "\U0001f680"])
def test_an_entry_holds_the_hash_java_computes_for_the_tag(tmp_path: Path, tag: str) -> None:
    store = open_store(tmp_path)
    put(store, TAGS=tag)
    assert code(store, 0) == tags_code(tag)
    store.close()


def test_no_tag_is_0_and_of_two_tags_the_later_counts(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store)
    store.put("T", 0, 0, 0, b"", b"TAGS\x01one\x02TAGS\x01two\x02", 0, bytes(8), 0, 0)
    store.put("T", 0, 0, 0, b"", b"TAGS\x01\x02XTAGS\x01no\x02TAGS", 0, bytes(8), 0, 0)
    assert [code(store, n) for n in range(3)] == [0, tags_code("two"), 0]
    store.close()


@pytest.mark.parametrize(("level", "wait"), [("1", 1000), ("3", 10_000), ("18", 7_200_000), ("99", 7_200_000)])
def test_a_delayed_message_carries_its_delivery_time(tmp_path: Path, level: str, wait: int) -> None:
    store = open_store(tmp_path)
    put(store, "SCHEDULE_TOPIC_XXXX", DELAY=level, TAGS="a")
    put(store, "T", DELAY=level, TAGS="a")
    assert code(store, 0, "SCHEDULE_TOPIC_XXXX") == START_MS + wait
    assert code(store, 0) == tags_code("a")
    store.close()


@pytest.mark.parametrize("level", [b"\xff3", b"9" * 5000, b"-3", b"+3", b" 3", "٣".encode()])
def test_what_is_no_level_waits_for_nothing(tmp_path: Path, level: bytes) -> None:
    """No checksum covers the properties: whatever stands there, the record goes where it belongs."""
    store = open_store(tmp_path)
    store.put("SCHEDULE_TOPIC_XXXX", 0, 0, 0, b"", b"DELAY\x01%b\x02TAGS\x01a\x02" % level, 0, bytes(8), 0, 0)
    assert code(store, 0, "SCHEDULE_TOPIC_XXXX") == tags_code("a")
    store.close()
    assert list(verify(StoreView(tmp_path))) == []


@pytest.mark.parametrize(
    ("bits", "queued", "indexed"), [(0, True, True), (0x4, False, True), (0x8, True, True), (0xC, False, False)]
)
def test_transaction_types_go_where_rocketmq_sends_them(tmp_path: Path, bits: int, queued: bool, indexed: bool) -> None:
    store = open_store(tmp_path)
    put(store, sys_flag=bits, KEYS="k")
    assert store.max_offset("T", 0) == int(queued)
    assert len(store.reader.query("T", "k", 10, 0, 1 << 62)) == int(indexed)
    assert put(store).queue_offset == int(queued)
    store.close()


def test_watched_queues_report_each_message_and_others_none(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    seen: list[Any] = []
    store.on_dispatch = lambda *event: seen.append(event)
    store.watch("T", 1)
    put(store, queue_id=0)
    put(store, queue_id=1, TAGS="a")
    store.watch("T", 1, False)
    put(store, queue_id=1)
    assert seen == [("T", 1, 1, tags_code("a"), START_MS, b"TAGS\x01a\x02")]
    store.close()


def test_every_key_and_the_unique_key_find_the_message(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for number in range(60):  # several index files of 49 entries
        put(store, body=b"%d" % number, UNIQ_KEY=f"u{number}", KEYS=f"a{number}  b{number % 7} ключ{number}")
    assert store.index is not None
    assert len(store.index.names) == 5
    for key in ("u41", "a41", "ключ41"):
        assert [r.body for r in store.reader.query("T", key, 10, 0, 1 << 62)] == [b"41"]
    assert [int(r.body) for r in store.reader.query("T", "b3", 64, 0, 1 << 62)] == list(range(3, 60, 7))
    assert [int(r.body) for r in store.reader.query("T", "b3", 2, 0, 1 << 62)] == [52, 59], "the newest"
    assert store.reader.query("Other", "u41", 10, 0, 1 << 62) == []
    store.close()


def test_another_key_with_the_same_hash_is_not_answered(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, body=b"right", KEYS="Aa")
    put(store, body=b"wrong", KEYS="BB")  # Java's best known collision
    assert [r.body for r in store.reader.query("T", "Aa", 10, 0, 1 << 62)] == [b"right"]
    store.close()


@pytest.mark.parametrize("crc", [False, True])
@pytest.mark.parametrize(
    "shared", [b"", b"KEYS\x01c d\x02TAGS\x01all\x02", b"UNIQ_KEY\x01u9\x02W\x01true", b"DELAY\x012\x02"]
)
def test_a_batch_is_dispatched_as_its_messages_one_by_one(tmp_path: Path, shared: bytes, crc: bool) -> None:
    own = [b"", b"TAGS\x01mine\x02KEYS\x01a b\x02", b"UNIQ_KEY\x01u1\x02KEYS\x01a", b"W\x01true\x02TAGS\x01mine"]
    together = open_store(tmp_path / "batch", enabled_append_prop_crc=crc)
    alone = open_store(tmp_path / "single", enabled_append_prop_crc=crc)
    for topic in ("T", "SCHEDULE_TOPIC_XXXX"):
        messages = batch(*[(b"body", text) for text in own])
        together.put_batch(topic, 0, 0, messages, shared, START_MS, HOST, 0)
        for text in own:
            between = b"\x02" if text and shared and not text.endswith(b"\x02") else b""
            alone.put(topic, 0, 9, 0, b"body", text + between + shared, START_MS, HOST, 0, 0)
    together.close()
    alone.close()
    assert files_of(tmp_path / "batch") == files_of(tmp_path / "single")


def files_of(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for folder in ("commitlog", "consumequeue", "index")
        for path in (root / folder).rglob("*")
        if path.is_file()
    }
