"""Power cuts and kills of a writing process, over and over on one store, each checked against what was acknowledged."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.fault.crash.writer import body_of, config, topic_of

from sprocketmq.protocol.record.record import decode_records
from sprocketmq.store.offline.verify import verify
from sprocketmq.store.offline.verify_findings import Severity
from sprocketmq.store.store import MessageStore
from sprocketmq.store.view import StoreView

#: Where a message lies: topic, queue, queue offset, commit offset.
Place = tuple[str, int, int, int]


@dataclass
class Outcome:
    """Sums over all cycles. `unflushed` were acknowledged under ASYNC_FLUSH and lost, as that mode allows.

    `lost` are those that the mode had promised, `invented` were never sent, `wrong` is any other finding.
    """

    cycles: int = 0
    acknowledged: int = 0
    unflushed: int = 0
    lost: list[str] = field(default_factory=list)
    invented: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    restart_ms: list[float] = field(default_factory=list)


@dataclass
class Cycles:
    """A store at `root` that is written to by one process after the other."""

    root: Path
    mode: str
    seed: int = 0
    by_power: bool = True  # what a killed process has written is there, flushed or not
    sent: int = 0
    places: dict[int, Place] = field(default_factory=dict)
    outcome: Outcome = field(default_factory=Outcome)

    def run(self, cut: Callable[[subprocess.Popen[str]], None], restart: Callable[[], None]) -> None:
        """One cycle: write for a while, `cut`, `restart`, and check."""
        random = Random(f"{self.seed}/{self.outcome.cycles}")
        before = set(self.places)
        writer = self._start_writer()
        lines: list[str] = []
        reader = threading.Thread(target=lambda: lines.extend(writer.stdout or ()), daemon=True)
        reader.start()
        while not lines and writer.poll() is None:
            time.sleep(0.002)
        waits_for_flush = self.by_power and self.mode == "ASYNC_FLUSH"
        time.sleep(random.uniform(0.0, 1.2 if waits_for_flush else 0.25))
        before_cut = len(lines)
        cut(writer)
        writer.kill()
        writer.wait()
        reader.join()
        if writer.stdout is not None:
            writer.stdout.close()
        self._note(lines[:before_cut], lines[before_cut:])
        gc.collect()  # the last check's mappings must be gone before the file system can be
        restart()
        self._check(before)
        self.outcome.cycles += 1

    def _start_writer(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.fault.crash.writer", str(self.root), self.mode, str(self.sent)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=os.environ)

    def _note(self, lines: list[str], late: list[str]) -> None:
        """Acknowledgements that came after the cut prove nothing: with real power they would not have come at all.

        A file system that was shut down still answers a sync that was under way, and not always with an error.
        """
        for line in (*lines, *late):
            if line.startswith("sent") and line.endswith("\n"):
                self.sent = int(line.split()[1]) + 1
        for line in lines:
            if line.startswith("ack"):
                number, queue_offset, commit_offset = map(int, line.split()[1:])
                self.places[number] = (*topic_of(number), queue_offset, commit_offset)
                self.outcome.acknowledged += 1

    def _check(self, before: set[int]) -> None:
        """The view first, as the crash left it; then recovery, every message, and the view of the result."""
        shown = {
            (topic, queue_id): queue.max_offset for (topic, queue_id), queue in StoreView(self.root).queues.items()
        }
        began = time.perf_counter()
        store = MessageStore.open(config(str(self.root), self.mode))
        self.outcome.restart_ms.append((time.perf_counter() - began) * 1000)
        try:
            held = {(queue.topic, queue.queue_id): queue.max_offset for queue in store.queues}
            if {key: end for key, end in shown.items() if end} != {key: end for key, end in held.items() if end}:
                self.outcome.wrong.append(f"the view showed {shown}, recovery found {held}")
            self._compare(read_all(store), before)
        finally:
            store.close()
        errors = [finding for finding in verify(StoreView(self.root)) if finding.severity is Severity.ERROR]
        self.outcome.wrong += map(str, errors)

    def _compare(self, found: dict[Place, bytes], before: set[int]) -> None:
        for number, place in list(self.places.items()):
            if found.get(place) != body_of(number):
                if self.mode == "SYNC_FLUSH" or number in before:
                    self.outcome.lost.append(f"cycle {self.outcome.cycles}: message {number} at {place}")
                else:
                    self.outcome.unflushed += 1
                del self.places[number]
        for place, body in found.items():
            number = int(body.partition(b":")[0])
            if number >= self.sent or body != body_of(number) or place[:2] != topic_of(number):
                self.outcome.invented.append(f"cycle {self.outcome.cycles}: {place}")


def read_all(store: MessageStore) -> dict[Place, bytes]:
    found: dict[Place, bytes] = {}
    for queue in store.queues:
        offset = queue.min_offset
        while offset < queue.max_offset:
            result = store.get_message(queue.topic, queue.queue_id, offset, 32, 1 << 20)
            for record in decode_records(result.records):
                found[record.topic, record.queue_id, record.queue_offset, record.commit_offset] = record.body
            offset = max(result.next_begin_offset, offset + 1)
    return found


def kill(writer: subprocess.Popen[str]) -> None:
    """The process dies at once; the kernel keeps what it wrote."""
    writer.send_signal(signal.SIGKILL)
