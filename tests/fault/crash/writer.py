"""A process that writes to a store and says on stdout what was acknowledged, until it is killed or the disk fails.

    python -m tests.fault.crash.writer DIR SYNC_FLUSH|ASYNC_FLUSH FIRST_NUMBER

Lines: `sent N TOPIC QUEUE` before a put, `ack N QUEUE_OFFSET COMMIT_OFFSET` when the mode's promise is kept.
"""

from __future__ import annotations

import sys
from itertools import count
from random import Random

from sprocketmq.errors import StoreError
from sprocketmq.protocol.record.properties import encode_properties
from sprocketmq.protocol.record.record import Record
from sprocketmq.store.config import FlushDiskType, StoreConfig
from sprocketmq.store.store import MessageStore

TOPICS = 3
QUEUES = 2


def config(root: str, mode: str) -> StoreConfig:
    """Small files, so that every few hundred messages one of each kind is begun."""
    return StoreConfig(
        store_path_root_dir=root,
        mapped_file_size_commit_log=256 * 1024,
        mapped_file_size_consume_queue=20 * 500,
        max_hash_slot_num=100,
        max_index_num=400,
        flush_disk_type=FlushDiskType(mode),
        flush_interval_consume_queue=20,
        flush_consume_queue_thorough_interval=100,
    )


def body_of(number: int) -> bytes:
    """Known from the number alone, of any length from nothing to 2 kB."""
    random = Random(number)
    return f"{number}:".encode() + random.randbytes(random.choice([0, 20, 200, 2000]))


def topic_of(number: int) -> tuple[str, int]:
    return f"Topic{number % TOPICS}", number // TOPICS % QUEUES


def message(number: int) -> Record:
    topic, queue_id = topic_of(number)
    properties = encode_properties({"KEYS": f"K{number}", "TAGS": f"T{number % 5}"}).encode()
    return Record(topic=topic, queue_id=queue_id, body=body_of(number), properties=properties)


def write(root: str, mode: str, first: int) -> None:
    store = MessageStore.open(config(root, mode))
    for number in count(first):
        sys.stdout.write(f"sent {number}\n")
        sys.stdout.flush()
        result = store.put_record(message(number))
        if not result.ok:
            return
        if store.config.sync_flush:
            store.flusher.wake()
            if not store.flusher.wait(result.end_offset, store.config.sync_flush_timeout):
                continue
            store.dispatch_ready()
        sys.stdout.write(f"ack {number} {result.queue_offset} {result.commit_offset}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    try:
        write(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    except (StoreError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
