"""ConsumeQueueExt: for each entry of a queue its tag's hash, its store time and the filter bits of the groups.

With `enableConsumeQueueExt` every dispatched message gets a unit here, and its queue entry holds the unit's address in
place of the tag's hash.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sprocketmq.store.files.bad_pages import BAD_PAGES
from sprocketmq.store.files.files import Files, sync_parents_unless_gone, sync_unless_gone
from sprocketmq.store.files.layout import Layout, base_offset_of, file_name
from sprocketmq.store.files.map_cache import MapCache
from sprocketmq.store.files.pages import PAGE, clear_file, queue_error
from sprocketmq.store.queue.consumequeue import ConsumeQueue
from sprocketmq.store.queue.cursor import QueueCursor
from sprocketmq.store.queue.ext_format import (
    END,
    END_ROOM,
    UNIT_HEAD,
    ExtUnit,
    decode_unit,
    encode_unit,
    ext_address,
    ext_offset,
    is_ext_address,
)
from sprocketmq.store.queue.table import QueueTable

_STEP = 64 << 10

#: (topic, properties) -> the bits of the groups whose filters match, or None when nobody computes them.
FilterBits = Callable[[str, bytes], bytes | None]


class ConsumeQueueExt:
    """The units of one queue. The end is not stored: it lies behind the unit that the last entry names.

    Units are synced with the checkpoint alone. So recovery writes those of the entries behind it once more.
    """

    def __init__(self, files: Files, maps: MapCache, folder: Path, file_size: int) -> None:
        self._files = files
        self._maps = maps
        self._folder = folder
        self.file_size = file_size
        self.bases = self._load()
        self.end = 0
        self._allocated = 0
        self._synced = 0

    def _load(self) -> list[int]:
        """Find the files. A power cut may take from one its length: what it has lost are zeros, which are no unit."""
        bases = [base for name in self._files.list_dir(self._folder) if (base := base_offset_of(name)) is not None]
        for path in map(self.path_of, bases):
            if self._files.size(path) < self.file_size:
                self._files.create(path, self.file_size).close()
        return bases

    def path_of(self, base: int) -> Path:
        return self._folder / file_name(base)

    def get(self, address: int) -> ExtUnit | None:
        offset = ext_offset(address)
        base = offset - offset % self.file_size
        if base not in self.bases:
            return None
        unit = decode_unit(self._maps.get(self.path_of(base)), offset - base)
        BAD_PAGES.check()
        return unit

    def end_of(self, address: int) -> int:
        """Behind the unit at an address. One that is damaged keeps its place."""
        unit = self.get(address)
        return ext_offset(address) + (UNIT_HEAD.size if unit is None else unit.size)

    def find_end(self) -> int:
        """Behind the last unit that is there."""
        if not self.bases:
            return 0
        base = at = self.bases[-1]
        view = self._maps.get(self.path_of(base))
        while (unit := decode_unit(view, at - base)) is not None:
            at += unit.size
        BAD_PAGES.check()
        return at

    def resume(self, end: int) -> None:
        """Go on at `end`, and clear what is behind."""
        self.end = self._synced = end
        for base in [base for base in self.bases if base > self.end]:
            self.bases.remove(base)
            self._maps.drop(self.path_of(base))
            self._files.remove(self.path_of(base))
        if self.bases and self.bases[-1] + self.file_size > self.end:
            clear_file(self._files, self.path_of(self.bases[-1]), self.end - self.bases[-1])

    def put(self, unit: ExtUnit) -> int:
        """Append a unit; returns its address. Raises StoreFull on a full disk."""
        data = encode_unit(unit)
        base = self.end - self.end % self.file_size
        if self.end - base + len(data) > self.file_size - END_ROOM:
            view = self._room(base, self.end - base, len(END))
            view[self.end - base : self.end - base + len(END)] = END
            self.end = base = base + self.file_size
        view = self._room(base, self.end - base, len(data))
        view[self.end - base : self.end - base + len(data)] = data
        BAD_PAGES.check_write()
        self.end += len(data)
        return ext_address(self.end - len(data))

    def _room(self, base: int, position: int, size: int) -> memoryview:
        path = self.path_of(base)
        try:
            if base not in self.bases:
                self._files.create(path, self.file_size).close()
                self.bases.append(base)
                self._allocated = base
            if base + position + size > self._allocated:
                limit = min(self.file_size, position + size + _STEP)
                file = self._files.open(path)
                try:
                    file.allocate(position // PAGE * PAGE, limit)
                finally:
                    file.close()
                self._allocated = base + limit
        except OSError as error:
            raise queue_error(error, path) from error
        return self._maps.get(path)

    def sync(self) -> None:
        """Called on the flush thread."""
        end = self.end
        for base in [base for base in self.bases if base + self.file_size > self._synced]:
            sync_unless_gone(self._files, self.path_of(base))
            sync_parents_unless_gone(self._files, self.path_of(base), self._folder.parent.parent)
        self._synced = end

    def remove_files_below(self, address: int) -> None:
        """Delete the files that hold only units before an address; the last stays."""
        while len(self.bases) > 1 and self.bases[0] + self.file_size <= ext_offset(address):
            path = self.path_of(self.bases.pop(0))
            self._maps.drop(path)
            self._files.remove(path)

    def destroy(self) -> None:
        """The files go; who makes the queue again has maps of the new ones."""
        for base in self.bases:
            self._maps.drop(self.path_of(base))
        self._files.remove_tree(self._folder)


class ExtTable:
    """The ConsumeQueueExts of a store, each opened when its queue first needs it."""

    def __init__(self, files: Files, maps: MapCache, layout: Layout, file_size: int, queues: QueueTable) -> None:
        self._files = files
        self._maps = maps
        self._layout = layout
        self._file_size = file_size
        self._queues = queues
        self._exts: dict[tuple[str, int], ConsumeQueueExt] = {}
        self.filter_bits: FilterBits | None = None

    def of_queue(self, topic: str, queue_id: int) -> ConsumeQueueExt:
        ext = self._exts.get((topic, queue_id))
        if ext is None:
            queue = self._queues.find(topic, queue_id)
            ext = self._open(topic, queue_id, 0 if queue is None else queue.max_offset)
        return ext

    def _open(self, topic: str, queue_id: int, queue_offset: int) -> ConsumeQueueExt:
        """The next unit is that of `queue_offset`."""
        folder = self._layout.consume_queue_ext(topic, queue_id)
        ext = self._exts[topic, queue_id] = ConsumeQueueExt(self._files, self._maps, folder, self._file_size)
        queue = self._queues.find(topic, queue_id)
        before = None if queue is None else queue.raw_entry(queue_offset - 1)
        if before is not None and is_ext_address(before.tags_code):
            ext.resume(ext.end_of(before.tags_code))
        else:
            ext.resume(ext.find_end() if queue_offset else 0)
        return ext

    def extend(
        self, cursor: QueueCursor, queue_offset: int, tags_code: int, store_timestamp: int, properties: bytes
    ) -> int:
        """Called by the dispatcher: the address that takes the tag hash's place in the queue entry."""
        bits = None if self.filter_bits is None else self.filter_bits(cursor.topic, properties)
        ext = self._exts.get((cursor.topic, cursor.queue_id))
        if ext is None:
            ext = self._open(cursor.topic, cursor.queue_id, queue_offset)
        return ext.put(ExtUnit(tags_code, store_timestamp, bits or b""))

    def trim(self, queue: ConsumeQueue) -> None:
        """Delete the files whose units no entry names any more; the queue has been trimmed before."""
        first = queue.raw_entry(queue.min_offset)
        if first is not None and is_ext_address(first.tags_code):
            self.of_queue(queue.topic, queue.queue_id).remove_files_below(first.tags_code)

    def unit(self, topic: str, queue_id: int, address: int) -> ExtUnit | None:
        return self.of_queue(topic, queue_id).get(address)

    def sync(self) -> None:
        for ext in list(self._exts.values()):
            ext.sync()

    def forget(self, topic: str) -> None:
        for key in [key for key in self._exts if key[0] == topic]:
            self._exts.pop(key).destroy()
        self._files.remove_tree(self._layout.consume_queue_exts / topic)
