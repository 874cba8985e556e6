from __future__ import annotations

from pathlib import Path

from tests.unit.store.support import bodies, open_store, put

from sprocketmq.store.files.disk import Disk
from sprocketmq.store.files.map_cache import MapCache


def test_many_queues_share_few_maps(tmp_path: Path) -> None:
    store = open_store(tmp_path, max_mapped_queue_files=16)
    for round_ in range(3):
        for number in range(400):
            assert put(store, f"topic-{number // 4}", number % 4, b"%d" % (number * 10 + round_)).ok
    assert len(store._maps) <= 16
    for number in range(0, 400, 37):
        assert bodies(store, f"topic-{number // 4}", number % 4) == [b"%d" % (number * 10 + r) for r in range(3)]
    store.close()
    store = open_store(tmp_path, max_mapped_queue_files=16)
    assert sum(queue.max_offset for queue in store.queues) == 1200
    store.close()


def test_a_queue_with_one_message_costs_a_page(tmp_path: Path) -> None:
    store = open_store(tmp_path, mapped_file_size_consume_queue=6_000_000)
    put(store)
    path = tmp_path / "consumequeue/T/0/00000000000000000000"
    assert path.stat().st_size == 6_000_000
    assert path.stat().st_blocks * 512 <= 2 * 4096
    store.close()


def test_the_least_used_map_goes_first_and_a_busy_holder_gets_a_second_chance(tmp_path: Path) -> None:
    class Holder:
        def __init__(self, busy: bool) -> None:
            self.busy = busy

        def release(self) -> bool:
            busy, self.busy = self.busy, False
            return not busy

    disk = Disk()
    paths = [tmp_path / str(number) for number in range(4)]
    for path in paths:
        disk.write_bytes(path, b"x" * 4096)
    maps = MapCache(disk, 2)
    first = maps.get(paths[0], Holder(busy=True))
    maps.get(paths[1])
    maps.get(paths[2])
    assert maps.get(paths[0]) is first, "it was busy"
    maps.get(paths[3])
    assert len(maps) == 2
    maps.drop(paths[3])
    maps.clear()
    assert len(maps) == 0
    assert bytes(first[:1]) == b"x", "whoever holds a view keeps its memory"


def test_many_dirty_queues_are_synced_at_once(tmp_path: Path) -> None:
    class CountingDisk(Disk):
        all_syncs = 0

        def sync_all(self, path: Path) -> None:
            self.all_syncs += 1
            super().sync_all(path)

    disk = CountingDisk()
    store = open_store(tmp_path, files=disk)
    for number in range(100):
        put(store, queue_id=number)
    store.write_checkpoint()
    assert disk.all_syncs == 1
    assert all(queue.unflushed_bytes == 0 for queue in store.queues)
    store.close()
    assert disk.all_syncs == 1
