"""Where a queue that was found on disk begins and ends. Neither is stored: both are told from the entries."""

from __future__ import annotations

from sprocketmq.store.files.bad_pages import BAD_PAGES
from sprocketmq.store.files.pages import PAGE
from sprocketmq.store.queue.consumequeue import ConsumeQueue
from sprocketmq.store.queue.cursor import written_until
from sprocketmq.store.queue.format import ENTRY_SIZE, decode_entry, written_entries

_PAGE_OF_ENTRIES = PAGE // ENTRY_SIZE * ENTRY_SIZE
_BEHIND = 64 << 10  # so much behind the last entry of a queue is looked at after a clean stop


def find_both_ends(queue: ConsumeQueue, log_min_offset: int, safe_below: int | None) -> None:
    """What a store that opens asks of every queue: the first entry that counts and the last.

    After a crash, the entries of records below the offset `safe_below` are known to be on disk; after a clean stop,
    None, all are.
    """
    if safe_below is not None or not _find_ends_in_a_page(queue, log_min_offset):
        _find_end(queue, safe_below)
        find_min(queue, log_min_offset)


def _find_ends_in_a_page(queue: ConsumeQueue, log_min_offset: int) -> bool:
    """One read does for a short queue, which most are where there are many; False where it does not."""
    if queue.bases != [0]:
        return False
    page = memoryview(queue.read_first(_PAGE_OF_ENTRIES))
    end = written_until(page, 0, len(page))
    if not 0 < end < len(page) or bytes(page[end:]).strip(b"\0"):
        return False
    first, last = decode_entry(page, 0), decode_entry(page, end - ENTRY_SIZE)
    if first.commit_offset < log_min_offset or first.is_filler or last.is_filler:
        return False
    queue.resume(end // ENTRY_SIZE, last.commit_offset + last.size)
    queue.min_offset = 0
    return True


def _find_end(queue: ConsumeQueue, safe_below: int | None) -> None:
    """Find the last entry and go on behind it.

    After a clean stop the entries are contiguous and halving finds the end; after a crash each entry is looked at
    that may not be on disk, and what follows a hole, or a file that is missing, does not count.
    """
    end = _clean_end(queue) if safe_below is None else _crash_end(queue, safe_below)
    queue.resume(end // ENTRY_SIZE, queue.record_end(end // ENTRY_SIZE - 1))


def _clean_end(queue: ConsumeQueue) -> int:
    """A damaged entry looks like the end: where there are others behind it, `torn` is the path of its file."""
    for base in reversed(queue.bases):
        view = queue.view_of(base)
        length = written_entries(view) * ENTRY_SIZE
        if bytes(view[length : length + _BEHIND]).strip(b"\0"):
            queue.torn = queue.path_of(base)
        BAD_PAGES.check()
        if length:
            return base + length
    return 0


def _crash_end(queue: ConsumeQueue, safe_below: int) -> int:
    first = max(0, len(queue.bases) - 1)
    while first > 0 and not _is_whole(queue, first - 1, safe_below):
        first -= 1
    if first == 0 and begins_late(queue, safe_below):
        return 0
    end = queue.bases[first] if first else 0
    for number, base in enumerate(queue.bases[first:]):
        if number and base != end:
            break
        length = written_until(queue.view_of(base), 0, queue.file_size)
        BAD_PAGES.check()
        end = base + length if length else end
        if length < queue.file_size:
            break
    return end


def begins_late(queue: ConsumeQueue, safe_below: int) -> bool:
    """Whether files may be missing before the first one: those of expired messages went long ago, with the log."""
    if not queue.bases or queue.bases[0] == 0:
        return False
    first = queue.entry_at(queue.bases[0], 0)
    return not first.is_filler and first.commit_offset >= safe_below  # before fillers there was never a file


def _is_whole(queue: ConsumeQueue, number: int, safe_below: int) -> bool:
    """Whether a file, which is not the last one, has all its entries, and the next file follows it."""
    base = queue.bases[number]
    last = queue.entry_at(base, queue.file_size - ENTRY_SIZE)
    is_safe = last.is_written and not last.is_filler and last.commit_offset < safe_below
    return is_safe and queue.bases[number + 1] == base + queue.file_size


def find_min(queue: ConsumeQueue, log_min_offset: int) -> None:
    """The first entry whose record is still in the log."""
    low, high = (queue.bases[0] // ENTRY_SIZE if queue.bases else queue.max_offset), queue.max_offset
    first = queue.raw_entry(low)
    if first is not None and not first.is_filler and first.commit_offset >= log_min_offset:
        high = low  # the common case costs one look
    while low < high:
        middle = (low + high) // 2
        entry = queue.raw_entry(middle)
        if entry is None or entry.is_filler or entry.commit_offset < log_min_offset:
            low = middle + 1
        else:
            high = middle
    queue.min_offset = low
