"""Messages from the quarantine go back into the log of a store that no broker runs on."""

from __future__ import annotations

from pathlib import Path

from sprocketmq.errors import StoreError
from sprocketmq.protocol.record.record import Record
from sprocketmq.store.config import StoreConfig
from sprocketmq.store.files.disk import Disk
from sprocketmq.store.files.layout import Layout
from sprocketmq.store.log.append import PutStatus
from sprocketmq.store.recovery.quarantine import quarantined, records_in, replay, set_replayed
from sprocketmq.store.store import MessageStore
from sprocketmq.store.view.store import StoreView


class Replay:
    """Appends with the file sizes that the view found, whatever the broker's configuration says today."""

    def __init__(self, directory: Path, view: StoreView) -> None:
        self._files = Disk()
        self._layout = Layout(directory)
        self._config = StoreConfig(
            store_path_root_dir=str(directory),
            mapped_file_size_commit_log=view.log.file_size,
            mapped_file_size_consume_queue=view.queue_file_size,
            max_hash_slot_num=view.index_shape.slots,
            max_index_num=view.index_shape.capacity,
        )

    def pending(self) -> list[tuple[Path, int]]:
        """Each file of the quarantine and how many whole records it holds."""
        return [(path, sum(1 for _ in records_in(self._files, path))) for path in self._waiting()]

    def _waiting(self) -> list[Path]:
        return quarantined(self._files, self._layout)

    def run(self) -> list[tuple[Path, int]]:
        """Opening recovers first, which may add to the quarantine; a file is marked once its records are flushed."""
        store = MessageStore.open(self._config, background=False)

        def put(record: Record) -> None:
            result = store.put_record(record)
            if not result.ok:
                raise StoreError(f"the message at {record.commit_offset} was refused: {PutStatus(result.status).name}")

        try:
            done = [(path, replay(self._files, path, put)) for path in self._waiting()]
        finally:
            store.close()
        if store.failure is not None:
            raise store.failure
        for path, _count in done:
            set_replayed(self._files, path)
        return done
