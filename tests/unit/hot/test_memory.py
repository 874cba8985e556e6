"""What a store keeps in memory does not grow with its log: positions and counters, never something per message."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest
from tests.unit.store.support import HOST, START_MS, properties

from sprocketmq.store.config import StoreConfig
from sprocketmq.store.store import MessageStore

SOME = 200
MORE = 10 * SOME
# One object kept per message would be MORE blocks; what the interpreter takes beside it is a few dozen.
NOISE = MORE // 2


def fill(store: MessageStore, messages: int) -> None:
    for number in range(messages):
        values = properties(KEYS=f"k{number}", UNIQ_KEY=f"u{number}", TAGS=f"t{number}")
        store.put("T", number % 4, 0, 0, b"body", values, START_MS, HOST, 0, 0)
        store.get_message("T", number % 4, number // 4, 32, 1 << 20)


def allocated() -> int:
    gc.collect()
    return sys.getallocatedblocks()


@pytest.mark.parametrize("sync", ["ASYNC_FLUSH", "SYNC_FLUSH"])
def test_a_thousand_messages_more_leave_nothing_more_in_memory(tmp_path: Path, sync: str) -> None:
    config = StoreConfig.from_properties({"storePathRootDir": str(tmp_path), "flushDiskType": sync})
    store = MessageStore.open(config, background=False)
    fill(store, SOME)
    before = allocated()
    fill(store, MORE)
    assert allocated() - before < NOISE
    store.close()


def test_a_clean_start_takes_the_same_for_ten_times_the_messages(tmp_path: Path) -> None:
    def blocks_of(messages: int) -> int:
        config = StoreConfig.from_properties({"storePathRootDir": str(tmp_path / str(messages))})
        store = MessageStore.open(config, background=False)
        fill(store, messages)
        store.close()
        before = allocated()
        store = MessageStore.open(config, background=False)
        taken = allocated() - before
        store.close()
        return taken

    blocks_of(SOME)
    assert abs(blocks_of(MORE) - blocks_of(SOME + 1)) < NOISE
