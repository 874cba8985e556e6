"""The index: messages by key, in files named by the time they were begun.

Only the newest file is written. A file is full when its count of entries is reached; the next one carries over where
it ended. A search goes from the newest file to the oldest and gives commit offsets that hash like the key: whoever
asks compares the keys themselves. Keys can be made to hash alike, so a search is cut when it has looked at too many.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

from sprocketmq.errors import StoreError
from sprocketmq.protocol.record.hashing import index_key_hash
from sprocketmq.store.files.bad_pages import BAD_PAGES
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.files.files import Files, sync_unless_gone
from sprocketmq.store.files.layout import is_index_name
from sprocketmq.store.files.map_cache import MapCache
from sprocketmq.store.files.page_cache import read_singly
from sprocketmq.store.files.pages import PAGE, page_end, space_error
from sprocketmq.store.index.cursor import IndexCursor
from sprocketmq.store.index.format import (
    HEADER,
    IndexHeader,
    decode_index_entry,
    decode_index_header,
    entry_at,
    index_file_size,
    slot_at,
)

_STEP_ENTRIES = 16 * 1024
_TO_THE_SECOND = "%Y%m%d%H%M%S"
#: What one search may cost, in entries looked at: some milliseconds. One that is handed out stands for so many, for its
#: message is read. RocketMQ counts only those: it stops at `maxNum` that hash alike, right ones or not.
MAX_EXAMINED = 16 * 1024
_READ_COSTS = 16

_log = logging.getLogger("sprocketmq.store.index")


class Index:
    def __init__(
        self, files: Files, maps: MapCache, clock: Clock, folder: Path, hash_slots: int, index_num: int
    ) -> None:
        self._files = files
        self._maps = maps
        self._clock = clock
        self._folder = folder
        self._hash_slots = hash_slots
        self._index_num = index_num
        self.names: list[str] = []
        self.cursor = IndexCursor(hash_slots, index_num, self)
        self.on_full: Callable[[str, IndexHeader], object] | None = None
        self._allocated = 0
        self._view: memoryview | None = None

    @property
    def file_size(self) -> int:
        return index_file_size(self._hash_slots, self._index_num)

    def path_of(self, name: str) -> Path:
        return self._folder / name

    def load(self) -> None:
        for name in self._files.list_dir(self._folder):
            if not is_index_name(name):
                continue
            size = self._files.size(self.path_of(name))
            if size > self.file_size:
                raise StoreError(f"{self.path_of(name)} has {size} bytes, but its settings ask for {self.file_size}")
            if size < self.file_size:
                self._files.remove(self.path_of(name))  # never got its size; its keys are still in the log
            else:
                self.names.append(name)

    def header(self, name: str) -> IndexHeader:
        header = decode_index_header(self.view_of(name))
        BAD_PAGES.check()
        return header

    def headers(self) -> list[tuple[str, IndexHeader]]:
        return [(name, self.header(name)) for name in self.names]

    def view_of(self, name: str) -> memoryview:
        if self._view is not None and name == self.names[-1]:
            return self._view
        return self._maps.get(self.path_of(name))

    def make_room(self) -> None:
        """Called by the cursor: open the newest file, give it more blocks, or begin the next."""
        try:
            if self.names and self._view is None:
                self._open(self.names[-1])
            if not self.names or self.cursor.count >= self._index_num:
                self._begin_file()
            else:
                self._allocate(self.cursor.count)
            self.cursor.place(self._view, self._allocated)
        except OSError as error:
            raise space_error(error, self._folder) from error

    def _open(self, name: str) -> None:
        file = self._files.open(self.path_of(name))
        self._view = read_singly(file.map())
        file.close()
        self._allocated = 0
        self.cursor.place(self._view, 0)

    def _begin_file(self) -> None:
        previous = self.header(self.names[-1]) if self.names else None
        full = self.names[-1] if self.names else None
        name = self._free_name()
        view = self._create(name)
        self._view, self._allocated = view, self._first_limit
        self.names.append(name)
        self._carry_over(view, previous)
        if full is not None and previous is not None and self.on_full is not None:
            self.on_full(full, previous)

    @property
    def _first_limit(self) -> int:
        return min(self._index_num, _STEP_ENTRIES)

    def _create(self, name: str) -> memoryview:
        """A file whose first entries have blocks; one that gets none leaves nothing behind."""
        file = self._files.create(self.path_of(name), self.file_size)
        try:
            end = entry_at(self._first_limit, self._hash_slots)
            file.allocate(0, end)
            file.ready(page_end(entry_at(1, self._hash_slots)), end)
            return read_singly(file.map())
        except OSError:
            self._files.remove(self.path_of(name))
            raise
        finally:
            file.close()

    def _carry_over(self, view: memoryview, previous: IndexHeader | None) -> None:
        time, offset = (previous.end_timestamp, previous.end_offset) if previous else (0, 0)
        HEADER.pack_into(view, 0, time, time, offset, offset, 0, 1)

    def _free_name(self) -> str:
        """The time now, or the moment after the newest file's when the clock, or summer time, went back behind it."""
        now = time_name(self._clock.now_ms())
        return max(now, name_after(self.names[-1])) if self.names else now

    def _allocate(self, count: int) -> None:
        """Entries up to a round number above `count` have blocks, and pages in memory."""
        limit = min(self._index_num, (count // _STEP_ENTRIES + 1) * _STEP_ENTRIES)
        if limit <= self._allocated:
            return
        at, end = entry_at(count, self._hash_slots), entry_at(limit, self._hash_slots)
        file = self._files.open(self.path_of(self.names[-1]))
        try:
            file.allocate(0 if self._allocated == 0 else at // PAGE * PAGE, end)
            file.ready(page_end(at), end)
        finally:
            file.close()
        self._allocated = limit

    def search(self, topic: str, key: str, begin: int, end: int) -> Iterator[int]:
        """Commit offsets whose key hashes alike and whose store time is in range, newest first, none twice."""
        key_hash = index_key_hash(topic, key)
        seen: set[int] = set()
        left = MAX_EXAMINED
        for name in reversed(self.names):
            header = self.header(name)
            if header.begin_timestamp <= end and header.end_timestamp >= begin:
                for offset in self._chain(self.view_of(name), header, key_hash, begin, end):
                    left -= 1
                    if offset is not None and offset not in seen:
                        seen.add(offset)
                        left -= _READ_COSTS
                        yield offset
                    if left <= 0:
                        _log.warning("a query of topic %s was cut: too many keys hash like the one asked for", topic)
                        return
            if header.begin_timestamp < begin:
                return

    def _chain(
        self, view: memoryview, header: IndexHeader, key_hash: int, begin: int, end: int
    ) -> Iterator[int | None]:
        """The commit offset of each entry in the chain, None of one that is not asked for."""
        at = slot_at(key_hash % self._hash_slots)
        number = int.from_bytes(view[at : at + 4], "big", signed=True)
        BAD_PAGES.check()
        while 0 < number < header.index_count:
            entry = decode_index_entry(view, number, self._hash_slots)
            BAD_PAGES.check()
            if entry.seconds < 0:
                return
            time = header.begin_timestamp + entry.seconds * 1000
            if time < begin - 999:  # seconds were rounded down
                return
            yield entry.commit_offset if entry.key_hash == key_hash and begin - 999 <= time <= end else None
            if not 0 <= entry.previous < number:  # a chain only leads to older entries
                return
            number = entry.previous

    def remove(self, name: str) -> None:
        self._maps.drop(self.path_of(name))  # as for a file of the log
        self._files.remove(self.path_of(name))
        if self.names and name == self.names[-1]:
            self._view = None
            self.cursor.place(None, 0)
        self.names.remove(name)

    def sync(self, names: list[str]) -> None:
        """Make files durable; called on the flush thread."""
        for name in names:
            sync_unless_gone(self._files, self.path_of(name))


def time_name(ms: int) -> str:
    return _name(datetime.fromtimestamp(ms // 1000), ms % 1000)


def name_after(name: str) -> str:
    """A millisecond later; of digits that are no time, the next number."""
    try:
        time = datetime.strptime(name[:14], _TO_THE_SECOND) + timedelta(milliseconds=int(name[14:]) + 1)
    except ValueError:
        return f"{int(name) + 1:017d}"
    return _name(time, time.microsecond // 1000)


def _name(time: datetime, ms: int) -> str:
    return f"{time.strftime(_TO_THE_SECOND)}{ms:03d}"
