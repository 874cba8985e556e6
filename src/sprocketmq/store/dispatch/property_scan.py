# cython: annotation_typing=False
"""Where a record's properties have the values that queues and index need: TAGS, KEYS, UNIQ_KEY and DELAY.

`next_key` is `protocol.record.properties.split_keys` for text that is not decoded: both part the keys
in the same places.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

if not cython.compiled:
    from sprocketmq.hot.memory import Pointer
    from sprocketmq.hot.octets import find, same

_TAGS, _KEYS, _DELAY, _UNIQUE_KEY = b"TAGS\x01", b"KEYS\x01", b"DELAY\x01", b"UNIQ_KEY\x01"
if not cython.compiled:
    _PROPERTY_END = 2
    _KEY_END = 0x20


class PropertyScan:
    """The places of the last text that was scanned; one that begins at -1 is not there."""

    def __init__(self) -> None:
        self.tags_at = self.keys_at = self.delay_at = self.unique_at = -1
        self.tags_end = self.keys_end = self.delay_end = self.unique_end = -1
        self.key_at = self.key_end = -1

    def scan(self, p: Pointer, at: int, end: int) -> None:
        """Note where p[at:end] has its values; of two with one name the later counts."""
        self.tags_at = self.keys_at = self.delay_at = self.unique_at = -1
        while at < end:
            stop = find(p, _PROPERTY_END, at, end)
            if stop < 0:
                stop = end
            if stop - at > 5:  # no name that counts has fewer letters, and `note` may read as many
                self.note(p, at, stop)
            at = stop + 1

    def follow(self, shared: PropertyScan, at: int) -> None:
        """The text goes on at `at` with one that was scanned by itself."""
        if shared.tags_at >= 0:
            self.tags_at, self.tags_end = at + shared.tags_at, at + shared.tags_end
        if shared.keys_at >= 0:
            self.keys_at, self.keys_end = at + shared.keys_at, at + shared.keys_end
        if shared.delay_at >= 0:
            self.delay_at, self.delay_end = at + shared.delay_at, at + shared.delay_end
        if shared.unique_at >= 0:
            self.unique_at, self.unique_end = at + shared.unique_at, at + shared.unique_end

    def next_key(self, p: Pointer, at: int) -> bool:
        """Note as `key_at` and `key_end` where the first of the user's keys is that begins at `at` or later."""
        while 0 <= at < self.keys_end:
            stop = find(p, _KEY_END, at, self.keys_end)
            if stop < 0:
                stop = self.keys_end
            if stop > at:
                self.key_at, self.key_end = at, stop
                return True
            at = stop + 1
        return False

    def note(self, p: Pointer, at: int, stop: int) -> None:
        first = p[at]  # most properties are somebody's own: one byte tells so before four comparisons would
        if first == 0x54 and same(p, at, _TAGS, 0, 5):
            self.tags_at, self.tags_end = at + 5, stop
        elif first == 0x4B and same(p, at, _KEYS, 0, 5):
            self.keys_at, self.keys_end = at + 5, stop
        elif first == 0x55 and stop - at > 9 and same(p, at, _UNIQUE_KEY, 0, 9):
            self.unique_at, self.unique_end = at + 9, stop
        elif first == 0x44 and stop - at > 6 and same(p, at, _DELAY, 0, 6):
            self.delay_at, self.delay_end = at + 6, stop
