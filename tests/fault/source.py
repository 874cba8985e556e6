"""The read-only view of a store that lies on a SimDisk."""

from __future__ import annotations

from pathlib import Path

from tests.fault.disk import SimDisk, SimFile
from tests.fault.ledger import Place, small_config

from sprocketmq.store.config import StoreConfig
from sprocketmq.store.view import StoreView
from sprocketmq.store.view.sizes import Sizes
from sprocketmq.store.view.source import ByteFile, Entry


class _SimBytes:
    def __init__(self, file: SimFile) -> None:
        self.size = file.size
        self._view = file.map(writable=False)

    def read(self, at: int, length: int) -> memoryview:
        return self._view[at : at + length]

    def data_ranges(self, at: int, end: int) -> list[tuple[int, int]]:
        return [(at, end)]


class SimSource:
    window = 1 << 62

    def __init__(self, disk: SimDisk) -> None:
        self._disk = disk

    def entries(self, directory: str) -> list[Entry]:
        folder = self._disk.root / directory
        return [self._entry(folder / name) for name in self._disk.list_dir(folder)]

    def _entry(self, path: Path) -> Entry:
        is_directory = self._disk.is_dir(path)
        return Entry(path.name, 0 if is_directory else self._disk.size(path), is_directory)

    def open(self, path: str) -> ByteFile:
        return _SimBytes(self._disk.open(self._disk.root / path, writable=False))

    def describe(self, path: str) -> str:
        return str(self._disk.root / path)


def view_of(disk: SimDisk, config: StoreConfig | None = None) -> StoreView:
    config = config or small_config()
    sizes = Sizes(
        config.mapped_file_size_commit_log,
        config.mapped_file_size_consume_queue,
        config.max_hash_slot_num,
        config.max_index_num,
    )
    return StoreView(SimSource(disk), sizes)


def places_in(view: StoreView) -> dict[Place, bytes]:
    """Every message that the view shows, by its place."""
    found = {}
    for topic, queue_id in view.queues:
        for offset, entry, record in view.read_queue(topic, queue_id):
            if not isinstance(record, Exception):
                found[Place(topic, queue_id, offset, entry.commit_offset)] = record.body
    return found
