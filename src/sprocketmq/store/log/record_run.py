# cython: annotation_typing=False
"""Records back to back, as a master sends them: how many of the bytes are whole ones that belong here."""

from __future__ import annotations

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.protocol.record.record import RecordParts

if not cython.compiled:
    from sprocketmq.hot.memory import Pointer, pointer
    from sprocketmq.hot.octets import i64
    from sprocketmq.protocol.record.record import NO_MAGIC, WHOLE


class RecordRun:
    """What `measure` found last. `kind` is what lies behind the whole records, which claims `size` bytes."""

    def __init__(self) -> None:
        self.kind = WHOLE
        self.size = 0
        self.store_timestamp = 0
        self._layout = RecordParts()

    def measure(self, data: memoryview, commit_offset: int) -> int:
        """The length of the records that begin at `commit_offset` of the log, each checked with its checksums."""
        p: Pointer = pointer(data)  # compiled without bounds: `locate` looks no further than `end`
        layout = self._layout
        at, end = 0, len(data)
        self.kind, self.size = WHOLE, 0
        while at < end:
            kind = layout.locate(p, at, end)
            if kind == WHOLE:
                kind = layout.check(p)
            if kind == WHOLE and i64(p, at + 28) != commit_offset + at:
                kind = NO_MAGIC  # a record of another place
            if kind != WHOLE:
                self.kind, self.size = kind, layout.size if end - at >= 8 else 0
                break
            self.store_timestamp = i64(p, layout.store_time_at)
            at += layout.size
        return at
