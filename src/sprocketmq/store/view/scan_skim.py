# cython: annotation_typing=False
"""Where a run of records ends, and which queue entries are worth following: by heads and hashes, without bodies."""

from __future__ import annotations

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.protocol.record.record import RecordParts
from sprocketmq.store.queue.ext_format import EXT_ADDRESS_MAX

if not cython.compiled:
    from sprocketmq.hot.octets import Octets, i32, i64
    from sprocketmq.protocol.record.record import NO_MAGIC, WHOLE
    from sprocketmq.store.queue.format import ENTRY_SIZE, FILLER_SIZE


def skim(data: Octets, origin: int, limit: int) -> tuple[int, int, int]:
    """(kind, end, late) of the records back to back from the start of `data`, whose first byte is `origin` of the log.

    The run ends at `end` of the data: kind is WHOLE when the data end there, BLANK before a blank record, and else what
    is wrong with what lies there. `late` is where the first record stored after `limit` begins, or the end; from there
    on checksums count too.
    """
    at, late, have, kind = 0, -1, len(data), WHOLE
    layout = RecordParts()  # one for all records: it holds places, and locating the next record writes over them
    if have:
        # Bare, for an index would be checked at every read; `locate` looks no further than `have`.
        p = cython.address(data[0]) if cython.compiled else data
        while at < have:
            kind = layout.locate(p, at, have)
            if kind != WHOLE:
                break
            if i64(p, at + 28) != origin + at:
                kind = NO_MAGIC
                break
            if late < 0 and i64(p, layout.store_time_at) > limit:
                late = at
            if late >= 0:
                kind = layout.check(p)
                if kind != WHOLE:
                    break
            at += layout.size
    return kind, at, at if late < 0 else late


def wanted_entries(entries: Octets, codes: frozenset[int] | None, begin: int, end: int) -> list[tuple[int, int]]:
    """(commit offset, size) of the queue entries that lie in [begin, end) of the log and may have one of these tags.

    What tag a ConsumeQueueExt unit stands for is not looked up: the record tells.
    """
    found: list[tuple[int, int]] = []
    have, unit = len(entries), EXT_ADDRESS_MAX
    if have >= ENTRY_SIZE:
        p = cython.address(entries[0]) if cython.compiled else entries  # bare: the loop counts whole entries
        at = 0
        while at + ENTRY_SIZE <= have:
            offset, size = i64(p, at), i32(p, at + 8)
            if begin <= offset < end and size != FILLER_SIZE:
                code = i64(p, at + 12)
                if codes is None or code <= unit or code in codes:
                    found.append((offset, size))
            at += ENTRY_SIZE
    return found
