# cython: annotation_typing=False
"""The Arrow columns that come out of the properties: the map of all of them, and single ones by name.

Each row's text is split once. An entry is four int32 in a scratch buffer: where its name begins and how long it is,
the same of its value. Of two entries with one name the first keeps its place and takes the later's value, as a Python
dict does: a map column has no key twice.

The messages of one producer carry the same names in the same order, so each name is first compared with the one that
the row before had in its place: what is equal need neither be searched for its end nor compared with all others.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.protocol.arrow.numbers import MAX_COLUMN_BYTES
from sprocketmq.protocol.arrow.rows import Rows
from sprocketmq.protocol.arrow.text_column import Room, TextColumn
from sprocketmq.protocol.record.properties import decode_properties, encode_properties
from sprocketmq.protocol.record.record import MAX_PROPERTIES_BYTES

if not cython.compiled:
    from sprocketmq.hot.octets import (  # isort: skip
        Octets, blank, cut, find, is_utf8, le32, le64, put_le32, same,
    )  # fmt: skip
    from sprocketmq.protocol.arrow.rows import END, ROW_BYTES, TOPIC_END

    #: From here on names are compared through a dict: comparing each with each grows with the square.
    MANY_ENTRIES = 64


class PropertyFill:
    """Goes over the rows once and fills the columns that are asked for."""

    def __init__(self, rows: Rows, total: int, with_map: bool, names: list[bytes], room: Room) -> None:
        if total > MAX_COLUMN_BYTES:
            raise ValueError(f"{total} bytes of properties: take a shorter run")
        entries = (total + rows.count) // 4 + 1 if with_map else 0  # an entry takes four bytes, the last one three
        self.with_map = with_map
        self.names = names
        self.maps = TextColumn(rows.count, 0, False, room)  # its offsets are the map's
        self.keys = TextColumn(entries, total if with_map else 0, False, room)
        self.values = TextColumn(entries, total if with_map else 0, False, room)
        self.singles = [TextColumn(rows.count, total, True, room) for _ in names]
        # Properties have a limit, an entry at least four bytes of it. Where bytes that are no UTF-8 were replaced the
        # text is longer, but has no more entries. These bytes are ours alone: they may be written again.
        self.scratch = blank(16 * (MAX_PROPERTIES_BYTES // 4 + 2))
        self.before = 0  # how many entries of the row before lie in it

    def fill(self, source: Octets, rows: Rows, repaired: dict[int, bytes]) -> None:
        places = rows.places
        for row in range(rows.count):
            if repaired and row in repaired:
                octets = repaired[row]
                self.before = 0
                self.fill_row(octets, 0, len(octets))
                self.before = 0
            else:
                at = le64(places, row * ROW_BYTES + TOPIC_END) + 2
                self.fill_row(source, at, le64(places, row * ROW_BYTES + END))
            self.maps.ends(self.keys.count)

    def fill_row(self, q: Octets, at: int, end: int) -> None:
        if self.with_map:
            entries = self.split(q, at, end)
            self.keys.append_many(q, end, self.scratch, 0, entries)
            self.values.append_many(q, end, self.scratch, 8, entries)
            for index in range(len(self.names)):
                self.fill_single(q, entries, self.names[index], self.singles[index])
        else:
            for index in range(len(self.names)):
                self.seek(q, at, end, self.names[index], self.singles[index])

    def fill_single(self, q: Octets, entries: int, name: bytes, column: TextColumn) -> None:
        s, n = self.scratch, name
        length, first = len(name), n[0]
        for entry in range(entries):
            at = le32(s, entry * 16)
            if le32(s, entry * 16 + 4) == length and q[at] == first and same(q, at, n, 0, length):
                column.append(q, le32(s, entry * 16 + 8), le32(s, entry * 16 + 12))
                return
        column.append_null()

    def seek(self, q: Octets, at: int, end: int, name: bytes, column: TextColumn) -> None:
        """As `fill_single`, without entries: where no map is asked for they need not be split."""
        n, length = name, len(name)
        value_at = value_end = 0
        while end - at > length:
            stop = find(q, 2, at, end)
            if stop < 0:
                stop = end
            if q[at] == n[0] and stop - at > length + 1 and q[at + length] == 1 and same(q, at, n, 0, length):
                value_at, value_end = at + length + 1, stop
            at = stop + 1
        if value_at:
            column.append(q, value_at, value_end - value_at)
        else:
            column.append_null()

    def split(self, q: Octets, at: int, end: int) -> int:
        """Notes the entries of q[at:end] in the scratch buffer; returns how many."""
        s = self.scratch
        entries, before = 0, self.before
        places: dict[bytes, int] | None = None
        while at < end:
            length = self.name_before(q, at, end, entries) if entries < before else 0
            stop = find(q, 2, at + length, end)
            if stop < 0:
                stop = end
            middle = at + length if length else find(q, 1, at, stop)
            if middle > at and middle + 1 < stop:
                if length:
                    entry = entries
                elif entries < MANY_ENTRIES:
                    entry = self.entry_of(q, at, middle - at, entries)
                else:
                    places = {} if places is None else places
                    entry = self.entry_among_many(q, at, middle - at, entries, places)
                if entry == entries:
                    if not length:
                        before = 0  # from here on the names are others
                    put_le32(s, entry * 16, at)
                    put_le32(s, entry * 16 + 4, middle - at)
                    entries += 1
                put_le32(s, entry * 16 + 8, middle + 1)
                put_le32(s, entry * 16 + 12, stop - middle - 1)
            at = stop + 1
        self.before = entries
        return entries

    def name_before(self, q: Octets, at: int, end: int, entry: int) -> int:
        """The length of the name that the row before has in this entry, when it is at `at` too; else 0."""
        name_at, length = le32(self.scratch, entry * 16), le32(self.scratch, entry * 16 + 4)
        return length if at + length < end and q[at + length] == 1 and same(q, at, q, name_at, length) else 0

    def entry_of(self, q: Octets, at: int, length: int, entries: int) -> int:
        """The entry with the name at `at`, or `entries` when it is new."""
        s = self.scratch
        for entry in range(entries):
            other = le32(s, entry * 16)
            if le32(s, entry * 16 + 4) == length and q[other] == q[at] and same(q, other, q, at, length):
                return entry
        return entries

    def entry_among_many(self, q: Octets, at: int, length: int, entries: int, places: dict[bytes, int]) -> int:
        s = self.scratch
        while len(places) < entries:
            entry = len(places)
            name_at = le32(s, entry * 16)
            places[cut(q, name_at, name_at + le32(s, entry * 16 + 4))] = entry
        return places.setdefault(cut(q, at, at + length), entries)


def property_columns(data: Octets, rows: Rows, with_map: bool, names: list[bytes], room: Room) -> PropertyFill:
    """The filled columns: the map's parts, and one nullable column for each of `names`."""
    if len(data) > MAX_COLUMN_BYTES:
        raise ValueError(f"{len(data)} bytes: take a shorter run")
    repaired: dict[int, bytes] = {}
    source = cython.address(data[0]) if cython.compiled else data
    total = 0
    places = rows.places
    for row in range(rows.count):
        at = le64(places, row * ROW_BYTES + TOPIC_END) + 2
        end = le64(places, row * ROW_BYTES + END)
        total += end - at
        if not is_utf8(source, at, end):
            repaired[row] = encode_properties(decode_properties(cut(source, at, end))).encode()
            total += len(repaired[row])
    fill = PropertyFill(rows, total, with_map, names, room)
    fill.fill(source, rows, repaired)
    return fill
