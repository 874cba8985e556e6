"""A full scan of the log to Arrow, against one zlib.crc32 call per body over the same log; prints one line per figure.

python bench/scan.py [--messages N] [--filtered]

With --filtered, reads by topic and tag of a store that was closed: rows returned, and rows looked at for them.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from sprocketmq.hot.loader import form
from sprocketmq.protocol.record.record import Record
from sprocketmq.store import scan
from sprocketmq.store.config import StoreConfig
from sprocketmq.store.offline.verify import verify
from sprocketmq.store.store import MessageStore
from sprocketmq.store.view import Selection, StoreView, plan_splits
from sprocketmq.store.view.scan_batches import Scan, ScanStats

BODY = bytes(range(128))
PROPERTIES = b"UNIQ_KEY\x01C00002021EE65FFD2B274C3E64940005\x02KEYS\x01order-1\x02TAGS\x01TagA\x02"


def seconds(work: Callable[[], object], rounds: int = 3) -> float:
    """CPU seconds of the best round: the machine may be busy with other things."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def fill(root: Path, messages: int) -> None:
    store = MessageStore.open(StoreConfig(store_path_root_dir=str(root)))
    record = Record(topic="TopicA", body=BODY, properties=PROPERTIES)
    for number in range(messages):
        store.put_record(record.replace(queue_id=number % 8))
    store.close()


def filtered(root: Path, messages: int) -> None:
    """Ten topics, each with ten tags."""
    store = MessageStore.open(StoreConfig(store_path_root_dir=str(root)))
    for number in range(messages):
        properties = b"UNIQ_KEY\x01%032d\x02TAGS\x01Tag%d\x02" % (number, number // 10 % 10)
        store.put_record(Record(topic=f"Topic{number % 10}", queue_id=number % 4, body=BODY, properties=properties))
    store.close()
    topic, tag = frozenset({"Topic3"}), frozenset({"Tag7"})
    choices = {"all": Selection(), "topic": Selection(topics=topic), "tag": Selection(tags=tag)}
    choices["topic and tag"] = Selection(topics=topic, tags=tag)
    for name, selection in choices.items():
        stats, start = ScanStats(), time.process_time()
        how = Scan(str(root), selection)
        for split in plan_splits(root, selection):
            for _batch in how.read(split, stats):
                pass
        row = {"what": name, "rowsReturned": stats.rows_returned, "rowsScanned": stats.rows_scanned}
        print(json.dumps({**row, "cpuSeconds": round(time.process_time() - start, 2)}), flush=True)


def crc_per_body(view: StoreView) -> Callable[[], object]:
    """The floor: one call for each body, its place being known."""
    places = [found.commit_offset + 88 for found in view.read_log() if isinstance(found, Record)]
    log = view.log.read(0, view.log_end)

    def run() -> None:
        for at in places:
            zlib.crc32(log[at : at + len(BODY)])

    return run


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=300_000)
    parser.add_argument("--filtered", action="store_true")
    chosen = parser.parse_args()
    messages = chosen.messages
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        if chosen.filtered:
            filtered(root, messages)
            return
        fill(root, messages)
        view = StoreView(root)
        floor = seconds(crc_per_body(view))
        figures = {
            "scan all columns": seconds(lambda: scan(root).read_all()),
            "scan queueOffset, tags, body": seconds(
                lambda: scan(root, columns=("queueOffset", "tags", "body")).read_all()
            ),
            "open": seconds(lambda: StoreView(root)),
            "verify": seconds(lambda: list(verify(view)), 1),
        }
        print(f"crc per body: {floor / messages * 1e9:.0f} ns per message, {form()}")
        for name, taken in figures.items():
            print(json.dumps({"what": name, "nsPerMessage": round(taken / messages * 1e9), "ratio": taken / floor}))


if __name__ == "__main__":
    main()
