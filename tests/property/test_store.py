"""A store against the simplest model of one: lists of bodies by queue, whatever happens in between."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.hypothesis_examples import examples
from tests.unit.store.support import FakeClock, batch, open_store, put, read_all

from sprocketmq.protocol.record.hashing import tags_code
from sprocketmq.protocol.record.record import decode_records
from sprocketmq.store.config import FlushDiskType
from sprocketmq.store.store import MessageStore

TOPICS = ("A", "B%x", "%RETRY%g")
queues = st.tuples(st.sampled_from(TOPICS), st.integers(0, 2))
sizes = st.one_of(st.integers(0, 200), st.integers(0, 9_000))
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), queues, sizes),
        st.tuples(st.just("batch"), queues, st.lists(st.integers(0, 500), min_size=1, max_size=8)),
        st.tuples(st.sampled_from(["flush", "checkpoint", "close", "crash"]), st.none(), st.none()),
    ),
    max_size=40,
)


class Model:
    def __init__(self, root: Path, **options: object) -> None:
        self.root = root
        self.options = options
        self.clock = FakeClock()
        self.queues: dict[tuple[str, int], list[bytes]] = {}
        self.count = 0
        self.store = self.open()

    def open(self) -> MessageStore:
        return open_store(self.root, self.clock, **self.options)  # type: ignore[arg-type]

    def body(self, size: int) -> bytes:
        self.count += 1
        return (b"%d|" % self.count).ljust(size, b".")

    def put(self, queue: tuple[str, int], size: int) -> None:
        body, tag = self.body(size), f"tag{self.count % 3}"
        result = put(self.store, queue[0], queue[1], body, TAGS=tag, KEYS=f"key{self.count}")
        bodies = self.queues.setdefault(queue, [])
        assert result.ok
        assert result.queue_offset == len(bodies)
        bodies.append(body)

    def batch(self, queue: tuple[str, int], sizes: list[int]) -> None:
        bodies = [self.body(size) for size in sizes]
        content = batch(*((body, b"KEYS\x01batch\x02") for body in bodies))
        result = self.store.put_batch(queue[0], queue[1], 0, content, b"", 0, bytes(8), 0)
        assert result.ok
        self.queues.setdefault(queue, []).extend(bodies)

    def step(self, kind: str, queue: tuple[str, int] | None, size: int | list[int] | None) -> None:
        self.clock.now += 700
        if queue is not None and isinstance(size, int):
            self.put(queue, size)
        elif queue is not None and isinstance(size, list):
            self.batch(queue, size)
        elif kind == "flush":
            self.store.flush()
        elif kind == "checkpoint":
            self.store.write_checkpoint()
        else:
            self.store.flush() if kind == "crash" else None
            self.store.abandon() if kind == "crash" else self.store.close()
            self.store = self.open()

    def check(self) -> None:
        self.store.flush()
        assert {(q.topic, q.queue_id) for q in self.store.queues} == set(self.queues)
        for (topic, queue_id), bodies in self.queues.items():
            records = read_all(self.store, topic, queue_id)
            assert [record.body for record in records] == bodies
            assert [record.queue_offset for record in records] == list(range(len(bodies)))
            times = [record.store_timestamp for record in records]
            assert times == sorted(times)
            self.check_tags(topic, queue_id, records)

    def check_tags(self, topic: str, queue_id: int, records: list) -> None:  # type: ignore[type-arg]
        wanted = frozenset({tags_code("tag1")})
        offset, found = 0, 0
        while offset < len(records):
            result = self.store.get_message(topic, queue_id, offset, 32, 1 << 20, wanted)
            found += len(decode_records(result.records))
            offset = result.next_begin_offset
        assert found == sum(b"TAGS\x01tag1\x02" in record.properties for record in records)


@given(steps, st.sampled_from(["async", "sync", "transient", "crc"]))
@settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
def test_a_store_is_what_was_put_into_it(history: list[tuple[str, object, object]], mode: str) -> None:
    options: Any = {
        "async": {},
        "sync": {"flush_disk_type": FlushDiskType.SYNC_FLUSH},
        "transient": {"transient_store_pool_enable": True},
        "crc": {"enabled_append_prop_crc": True},
    }[mode]
    with tempfile.TemporaryDirectory() as folder:
        model = Model(Path(folder), **options)
        for kind, queue, size in history:
            model.step(kind, queue, size)  # type: ignore[arg-type]
        model.check()
        model.store.close()
        model.store = model.open()
        assert model.store.report.clean
        model.check()
        model.store.close()
