"""Many topics under an ordinary user's limits: a put to every queue, a read back, and the same after a restart.

python -m bench.many_topics [--topics 10000] [--queues 8] [--descriptors 1024]

Prints what it took as JSON; `maps` and `descriptors` are the most that were held, `kB a queue` is resident memory.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from sprocketmq.hot.loader import form
from sprocketmq.protocol.record.record import decode_records
from sprocketmq.store.config import StoreConfig
from sprocketmq.store.store import MessageStore

HOST = bytes(8)
PROPERTIES = b"TAGS\x01TagA\x02"


def resident_kb() -> int:
    """Memory of the process's own; pages of mapped files, which the kernel takes back when it likes, do not count."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def held() -> tuple[int, int]:
    """(maps, descriptors) of this process."""
    maps = Path("/proc/self/maps").read_bytes().count(b"\n")
    return maps, sum(1 for _ in Path("/proc/self/fd").iterdir())


def every_queue(topics: int, queues: int) -> Iterator[tuple[str, int]]:
    return ((f"Topic-{topic}", queue_id) for queue_id in range(queues) for topic in range(topics))


class Load:
    def __init__(self, root: Path, topics: int, queues: int) -> None:
        # An index file of default size has 5,000,000 slots; its pages are the index's cost and not the queues'.
        small = {"maxHashSlotNum": "1000", "maxIndexNum": "4000"}
        self.config = StoreConfig.from_properties({"storePathRootDir": str(root), **small})
        self.topics, self.queues = topics, queues
        self.figures: dict[str, object] = {"form": form(), "queues": topics * queues}
        self._most = (0, 0)

    def open(self) -> MessageStore:
        return MessageStore.open(self.config, background=False)

    def timed(self, name: str, work: Callable[[], object]) -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        self.figures[name] = f"{time.perf_counter() - wall:.1f} s, CPU {time.process_time() - cpu:.1f} s"
        self._most = max(self._most, held())

    def write(self, store: MessageStore, number: int) -> None:
        for topic, queue_id in every_queue(self.topics, self.queues):
            body = f"{topic}/{queue_id}/{number}".encode()
            result = store.put(topic, queue_id, 0, 0, body, PROPERTIES, 0, HOST, 0, 0)
            if not result.ok or result.queue_offset != number:
                sys.exit(f"{topic}/{queue_id}: {result}")

    def read(self, store: MessageStore, number: int) -> int:
        """Returns how many were read, which is one of every queue."""
        for topic, queue_id in every_queue(self.topics, self.queues):
            records = store.get_message(topic, queue_id, number, 1, 1 << 20).records
            [record] = decode_records(records)
            if record.body != f"{topic}/{queue_id}/{number}".encode():
                sys.exit(f"{topic}/{queue_id}: another message came")
        return self.topics * self.queues

    def run(self) -> dict[str, object]:
        store, before = self.open(), resident_kb()
        self.timed("put one each", lambda: self.write(store, 0))
        gc.collect()
        self.figures["kB a queue"] = round((resident_kb() - before) / (self.topics * self.queues), 2)
        self.timed("read one each", lambda: self.read(store, 0))
        self.timed("close", store.close)
        again: list[MessageStore] = []
        self.timed("open", lambda: again.append(self.open()))
        self.timed("put another", lambda: self.write(again[0], 1))
        self.timed("read both", lambda: [self.read(again[0], number) for number in (0, 1)])
        self.timed("close again", again[0].close)
        self.figures["maps"], self.figures["descriptors"] = self._most
        return self.figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", type=int, default=10_000)
    parser.add_argument("--queues", type=int, default=8)
    parser.add_argument("--descriptors", type=int, default=1024)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (options.descriptors, options.descriptors))
    with tempfile.TemporaryDirectory() as root:
        print(json.dumps(Load(Path(root), options.topics, options.queues).run(), indent=2))


if __name__ == "__main__":
    main()
