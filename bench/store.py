"""The store's hot paths against plain loops over the same bytes; prints one line per figure.

python bench/store.py [--messages N]
"""

from __future__ import annotations

import argparse
import gc
import json
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from sprocketmq.hot.loader import form
from sprocketmq.store.config import StoreConfig
from sprocketmq.store.files.disk import Disk
from sprocketmq.store.store import MessageStore

BODY = bytes(range(128))
PROPERTIES = b"UNIQ_KEY\x01C00002021EE65FFD2B274C3E64940005\x02KEYS\x01order-1\x02TAGS\x01TagA\x02"
HOST = bytes(8)
BATCH = 32
FIXED = struct.Struct(">iiiiiqqiqqqqiqi")


def batch_body(count: int) -> bytes:
    properties = b"KEYS\x01order-1\x02TAGS\x01TagA\x02UNIQ_KEY\x01C00002021EE65FFD2B274C3E64940005\x02"
    size = 22 + len(BODY) + len(properties)
    one = struct.pack(">iiiii", size, 0, 0, 0, len(BODY)) + BODY + struct.pack(">h", len(properties)) + properties
    return one * count


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds: the machine may be busy with other things."""
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


def best(rounds: int, make: Callable[[Path], Callable[[], object]]) -> float:
    times = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            times.append(seconds(make(Path(folder))))
    return min(times)


def plain_loop(folder: Path, messages: int) -> Callable[[], object]:
    """CRC, one struct, one copy: what any Python program would do to write these records."""
    record_size = FIXED.size + len(BODY) + 1 + 6 + 2 + len(PROPERTIES)
    file = Disk().create(folder / "plain", record_size * messages)
    file.allocate(0, file.size)
    view = file.map()
    tail = BODY + b"\x06TopicA" + struct.pack(">h", len(PROPERTIES)) + PROPERTIES

    def run() -> None:
        at = 0
        for number in range(messages):
            crc = zlib.crc32(BODY) & 0x7FFFFFFF
            head = FIXED.pack(
                record_size, -626843481, crc, 0, 0, number, at, 0, 1_700_000_000_000, 0, 1_700_000_000_000, 0, 0, 0, 128
            )
            view[at : at + record_size] = head + tail
            at += record_size

    return run


def settings(folder: Path, **more: object) -> StoreConfig:
    return StoreConfig.from_properties({"storePathRootDir": str(folder), **{k: str(v) for k, v in more.items()}})


def one_by_one(folder: Path, messages: int) -> Callable[[], object]:
    store = MessageStore.open(settings(folder), background=False)
    put = store.put

    def run() -> None:
        for _ in range(messages):
            put("TopicA", 0, 0, 0, BODY, PROPERTIES, 1_700_000_000_000, HOST, 0, 0)
        store.abandon()

    return run


def in_batches(folder: Path, messages: int) -> Callable[[], object]:
    store = MessageStore.open(settings(folder), background=False)
    batch, put_batch = batch_body(BATCH), store.put_batch

    def run() -> None:
        for _ in range(messages // BATCH):
            put_batch("TopicA", 0, 0, batch, b"", 1_700_000_000_000, HOST, 0)
        store.abandon()

    return run


def recovery(messages: int) -> tuple[float, float, float]:
    """(seconds to open after a crash, one CRC call per body, one CRC over all bytes)."""
    with tempfile.TemporaryDirectory() as folder:
        one_by_one(Path(folder), messages)()
        opened: list[MessageStore] = []
        recovered = seconds(lambda: opened.append(MessageStore.open(settings(Path(folder)), background=False)))
        [store] = opened
        size = store.log.max_offset // messages
        views = [store.log.view_of(base) for base in store.log.bases]

        def per_body() -> None:
            [view] = views
            assert view is not None
            for at in range(0, size * messages, size):
                zlib.crc32(view[at + 88 : at + 216])

        def whole() -> None:
            [view] = views
            assert view is not None
            zlib.crc32(view[: store.log.max_offset])

        result = recovered, seconds(per_body), seconds(whole)
        store.close()
        return result


def clean_open(messages: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        store = MessageStore.open(settings(Path(folder)), background=False)
        for _ in range(messages):
            store.put("TopicA", 0, 0, 0, BODY, PROPERTIES, 1_700_000_000_000, HOST, 0, 0)
        store.close()
        opened: list[MessageStore] = []
        time_open = seconds(lambda: opened.append(MessageStore.open(settings(Path(folder)), background=False)))
        opened[0].close()
        return time_open


def pulls(messages: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        store = MessageStore.open(settings(Path(folder)), background=False)
        for number in range(messages):
            store.put("TopicA", number & 3, 0, 0, BODY, PROPERTIES, 1_700_000_000_000, HOST, 0, 0)

        def run() -> None:
            for offset in range(0, messages // 4 - 32, 32):
                store.get_message("TopicA", 1, offset, 32, 1 << 20)

        spent = seconds(run)
        store.close()
        return spent / (messages // 4)


def at_rest(messages: int) -> float:
    """MiB that the process of a store with that many messages has to itself: mapped files belong to the page cache."""
    command = [sys.executable, "-m", "bench.store", "--hold", str(messages)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def hold(messages: int) -> None:
    """Fill a store, open it again and print the memory that is not a file's."""
    with tempfile.TemporaryDirectory() as folder:
        in_batches(Path(folder), messages)()
        store = MessageStore.open(settings(Path(folder)), background=False)
        rollup = Path("/proc/self/smaps_rollup").read_text()
        print(int(next(line for line in rollup.splitlines() if line.startswith("Anonymous")).split()[1]) / 1024)
        store.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--hold", type=int, help="fill a store with so many, print the memory that it takes, and end")
    options = parser.parse_args()
    if options.hold:
        hold(options.hold)
        return
    messages = options.messages
    plain = best(3, lambda folder: plain_loop(folder, messages)) / messages
    single = best(3, lambda folder: one_by_one(folder, messages)) / messages
    batched = best(3, lambda folder: in_batches(folder, messages)) / messages
    recovered, per_body, whole = recovery(messages)
    figures = {
        "form": form(),
        "plain loop ns": round(plain * 1e9),
        "append + dispatch ns": round(single * 1e9),
        "append + dispatch / plain (<= 2)": round(single / plain, 2),
        "batches of 32 ns": round(batched * 1e9),
        "batches of 32 / plain (<= 0.7)": round(batched / plain, 2),
        "recovery ns": round(recovered / messages * 1e9),
        "recovery / CRC per body (<= 1.5)": round(recovered / per_body, 2),
        "recovery / CRC of all bytes": round(recovered / whole, 2),
        "clean open ms, small": round(clean_open(messages // 10) * 1e3, 2),
        "clean open ms, ten times that": round(clean_open(messages) * 1e3, 2),
        "memory at rest MiB, small": round(at_rest(messages), 1),
        "memory at rest MiB, ten times that": round(at_rest(messages * 10), 1),
        "pull of 32, ns per message": round(pulls(messages) * 1e9),
    }
    for name, value in figures.items():
        print(f"{name:40} {value}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
