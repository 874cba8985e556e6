# cython: annotation_typing=False
"""The cells of Arrow columns, read where they lie.

A text is a range of bytes in the column's data; a list or a map is a range of items in its children. Offsets are int32,
in Arrow's large types int64. `shift` is the row of the buffers that is row 0 here: a slice shares its array's buffers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

if not cython.compiled:
    from sprocketmq.hot.octets import Octets, le32, le64

_NOTHING = bytes(16)  # what an absent buffer points to


class Ranges:
    """`bits` is None when no cell is null, `data` when the cells are lists or maps."""

    def __init__(self, bits: Any, offsets: Any, data: Any, shift: int, is_wide: bool) -> None:
        self._kept = bits, offsets, data  # what is read through are bare addresses when compiled: these keep the memory
        self._has_nulls = bits is not None
        self._shift, self._is_wide = shift, is_wide
        self._b, self._o = readable(bits), readable(offsets)
        self.data = readable(data)
        self.data_end = 0 if data is None else data.size

    def at(self, row: int) -> int:
        """Where the cell begins."""
        place = self._shift + row
        return le64(self._o, place * 8) if self._is_wide else le32(self._o, place * 4)

    def length(self, row: int) -> int:
        """-1 for a null."""
        place = self._shift + row
        if self._has_nulls and not self._b[place >> 3] >> (place & 7) & 1:
            return -1
        return self.at(row + 1) - self.at(row)


class Numbers:
    """A column of int64."""

    def __init__(self, bits: Any, values: Any, shift: int) -> None:
        self._kept = bits, values  # as above
        self._has_nulls = bits is not None
        self._shift = shift
        self._b, self._v = readable(bits), readable(values)

    def is_null(self, row: int) -> bool:
        place = self._shift + row
        return self._has_nulls and not self._b[place >> 3] >> (place & 7) & 1

    def value(self, row: int) -> int:
        """0 for a null."""
        return 0 if self.is_null(row) else le64(self._v, (self._shift + row) * 8)


class Field:
    """A property with a column of its own; the cells of `texts` are joined by spaces when `lists` says which."""

    def __init__(self, name: str, texts: Ranges, lists: Ranges | None = None) -> None:
        self.head = f"{name}\x01".encode()
        self.texts, self.lists = texts, lists


class Pairs:
    """A column of maps: `lists` says which of the names and values are a row's."""

    def __init__(self, lists: Ranges, names: Ranges, values: Ranges) -> None:
        self.lists, self.names, self.values = lists, names, values


class Columns(NamedTuple):
    """The columns of a batch; None for those that are not there."""

    bodies: Ranges
    topics: Ranges | None
    fields: list[Field]
    pairs: Pairs | None
    flags: Numbers | None
    delays: Numbers | None
    shards: Ranges | None
    queue_ids: Numbers | None


def readable(buffer: Any) -> Octets:
    """Where the buffer's memory is; the buffer has to outlive it."""
    if buffer is None or buffer.size == 0:
        return first(_NOTHING)
    return first(memoryview(buffer).cast("B"))  # pyarrow says signed bytes


def first(view: Any) -> Octets:
    return cython.address(view[0]) if cython.compiled else view
