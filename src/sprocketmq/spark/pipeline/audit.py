"""`audit`: whether a store is whole, checked in parallel; and whether what was sent was consumed, once.

log      every record is whole, and its queue has the entry it calls for
queues   every entry points to a whole record of its own queue and offset
index    every entry points to a record that has a key with its hash
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from sprocketmq.errors import StoreCorrupt
from sprocketmq.spark.pipeline.trace import consumed_of, sent_of
from sprocketmq.store.offline.rebuild import Dispatched
from sprocketmq.store.offline.verify import unagreed
from sprocketmq.store.offline.verify_fast import Agreement
from sprocketmq.store.offline.verify_findings import Finding
from sprocketmq.store.offline.verify_queues import QueueCheck
from sprocketmq.store.queue.format import QueueEntry
from sprocketmq.store.view import Damage, LogSplit, StoreView, plan_splits

_ENTRIES_PER_TASK = 200_000


@dataclass(frozen=True)
class StoreAudit:
    records: int
    queue_entries: int
    index_entries: int
    findings: list[Finding]

    @property
    def ok(self) -> bool:
        return not self.findings


Task = tuple[str, Any]
Count = tuple[str, int]


def audit_store(spark: SparkSession, directory: str) -> StoreAudit:
    """Every record, queue entry and index entry of the store; workers must see the directory."""
    tasks = _tasks(StoreView(directory), spark.sparkContext.defaultParallelism)
    found = spark.sparkContext.parallelize(tasks, max(1, len(tasks))).flatMap(lambda task: run_task(directory, task))
    results = found.collect()
    counts = {"log": 0, "queue": 0, "index": 0}
    for kind, number in (one for one in results if not isinstance(one, Finding)):
        counts[kind] += number
    findings = [one for one in results if isinstance(one, Finding)]
    return StoreAudit(counts["log"], counts["queue"], counts["index"], findings)


def _tasks(view: StoreView, parallelism: int) -> list[Task]:
    logs: list[Task] = [("log", piece) for piece in plan_splits(view.source, at_least=3 * parallelism)]
    queues: list[Task] = [
        ("queue", (*key, begin, min(begin + _ENTRIES_PER_TASK, queue.max_offset)))
        for key, queue in sorted(view.queues.items())
        for begin in range(queue.min_offset, queue.max_offset, _ENTRIES_PER_TASK)
    ]
    return [*logs, *queues, *(("index", number) for number in range(len(view.indexes)))]


def run_task(directory: str, task: Task) -> Iterator[Finding | Count]:
    """On a worker."""
    kind, what = task
    view = StoreView(directory)
    if kind == "log":
        yield from check_records(view, what)
    elif kind == "queue":
        yield from check_entries(view, *what)
    else:
        yield from check_index(view, what)


def check_records(view: StoreView, piece: LogSplit) -> Iterator[Finding | Count]:
    """Only what the quick way does not pass over is looked at one by one."""
    queues, records = QueueCheck(view), 0
    agreement = Agreement(queues.agreements, queues.fetch, None)
    for found in unagreed(view, agreement, piece.begin, piece.end):
        if isinstance(found, Damage):
            what = f"{found.end - found.begin} bytes hold no whole record: {found.reason}"
            yield Finding(found.path, found.begin - found.base, what)
            continue
        records += 1
        wanted = Dispatched.of(found, view.delays)
        of_queue = queues.agreement(found.topic, found.queue_id)
        if wanted.entry is None or view.is_deleted(found):
            continue
        of_queue.due = found.queue_offset + 1
        if problem := _queue_problem(view, wanted):
            file = view.log.file_at(found.commit_offset)
            yield Finding(file.path if file else "commitlog", found.commit_offset - (file.base if file else 0), problem)
    yield "log", records + agreement.records


def _queue_problem(view: StoreView, wanted: Dispatched) -> str | None:
    queue = view.queues.get((wanted.topic, wanted.queue_id))
    place = f"{wanted.topic}:{wanted.queue_id} at {wanted.queue_offset}"
    if queue is None or wanted.queue_offset >= queue.max_offset:
        return f"its queue has no entry {place}"
    if wanted.queue_offset < queue.min_offset:
        return None
    entry = queue.entry(wanted.queue_offset)
    return None if entry == wanted.entry else f"the entry {place} is {_text(entry)}"


def check_entries(view: StoreView, topic: str, queue_id: int, begin: int, end: int) -> Iterator[Finding | Count]:
    entries = 0
    for offset, entry, found in view.read_queue(topic, queue_id, begin, end):
        entries += 1
        path, at = view.queue(topic, queue_id).place(offset)
        if isinstance(found, StoreCorrupt):
            yield Finding(path, at, f"entry {offset} is {_text(entry)}: {found.reason}")
        elif (found.topic, found.queue_id, found.queue_offset) != (topic, queue_id, offset):
            place = f"{found.topic}:{found.queue_id} at {found.queue_offset}"
            yield Finding(path, at, f"entry {offset} points to the message of {place}")
    yield "queue", entries


def check_index(view: StoreView, number: int) -> Iterator[Finding | Count]:
    index = view.indexes[number]
    for place in range(1, index.count):
        entry = index.entry(place)
        try:
            record = view.log.record(entry.commit_offset, check_crc=False)
        except StoreCorrupt as error:
            if entry.commit_offset >= view.log_begin:
                yield Finding(f"index/{index.name}", index.shape.entry_at(place), error.reason)
            continue
        if entry.key_hash not in Dispatched.of(record, view.delays).key_hashes:
            what = f"no key of the message at {entry.commit_offset} has the hash {entry.key_hash}"
            yield Finding(f"index/{index.name}", index.shape.entry_at(place), what)
    yield "index", index.count - 1


def _text(entry: QueueEntry) -> str:
    return f"{{{entry.commit_offset}, {entry.size}, {entry.tags_code}}}"


@dataclass(frozen=True)
class DeliveryAudit:
    """Messages by unique key. `lost` were sent and not consumed; `unknown` were consumed and not sent."""

    sent: int
    consumed: int
    lost: int
    duplicates: int
    unknown: int
    lost_keys: list[str]
    duplicate_keys: list[str]


def audit_delivery(sent: DataFrame, trace: DataFrame, group: str, *, examples: int = 20) -> DeliveryAudit:
    """What became of messages in a group. `sent` is an archive, a topic or the trace; `trace` the trace topic."""
    keys = sent_of(sent)
    consumed = consumed_of(trace, group)
    both = keys.join(consumed, "uniqKey", "full_outer").cache()
    try:
        totals = both.agg(
            f.count("sentTimes"), f.count("consumedTimes"),
            f.count_if(f.col("consumedTimes").isNull()), f.count_if(f.col("consumedTimes") > 1),
            f.count_if(f.col("sentTimes").isNull()),
        ).first()  # fmt: skip
        assert totals is not None
        lost = both.where("consumedTimes is null").limit(examples).collect()
        twice = both.where("consumedTimes > 1").limit(examples).collect()
    finally:
        both.unpersist()
    sent_keys, consumed_keys, missing, repeated, unknown = totals
    examples_of = [[str(row["uniqKey"]) for row in rows] for rows in (lost, twice)]
    return DeliveryAudit(sent_keys, consumed_keys, missing, repeated, unknown, *examples_of)
