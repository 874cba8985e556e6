# cython: annotation_typing=False
"""Which fields the requests of one code have: where they come, in which order they are signed, which of them decide.

A client writes the same fields into every request of a code, and their values alone differ. So what can be found out
from the keys is found out once, and the next request is held against it: two comparisons for a field.

Keys are ordered by bytes, which is Java's order of ASCII; others are sorted in Python.

Compiled, `p` is a bare pointer without bounds. `protocol.frame.decoder` has checked the block before: every length in
it leads to another field or to its end, and a key that is the one we know has its length as well.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.errors import CommandError
from sprocketmq.protocol.signing import utf16_units

if not cython.compiled:
    from sprocketmq.hot.octets import Octets, compared, i16, i32, i64, is_ascii, same

    MAX_FIELDS, MAX_DECIDING = 256, 16

_ACCESS_KEY, _SIGNATURE, _SECURITY_TOKEN = b"AccessKey", b"Signature", b"SecurityToken"
_UNIQUE_KEY_QUERY = b"_UNIQUE_KEY_QUERY"
#: Of a field's first eight bytes two are the length of its key.
_IN_HEAD = 6


class HeaderShape:
    """
    count       fields as they come, each by its number
    signed      of them, in `order`: all but the signature, and but those that come a second time
    twins       fields that come a second time; `twin` is one, and `first` the one before it with its key
    decides     so many fields a decision rests on, -1 when on others than fields
    deciding    their numbers, -1 of one that is not there
    """

    def __init__(self) -> None:
        if not cython.compiled:
            # Compiled they are C arrays within the object: no Python number for a field, and nothing to allocate.
            self.head, self.mask, self.tail = [0] * MAX_FIELDS, [0] * MAX_FIELDS, [0] * MAX_FIELDS
            self.key_at, self.key_length = [0] * MAX_FIELDS, [0] * MAX_FIELDS
            self.order, self.twin, self.first = [0] * MAX_FIELDS, [0] * MAX_FIELDS, [0] * MAX_FIELDS
            self.deciding = [0] * MAX_DECIDING
        self.code = -1
        self.block = b""
        self.count = self.signed = self.twins = self.decides = 0
        self.access = self.signature = self.token = self.unique = -1

    def fits(self, code: int, p: Octets, end: int, key_end: list[int], value_end: list[int]) -> bool:
        """Whether a header has these fields in this order; then `key_end` and `value_end` say where they are."""
        if code != self.code:
            return False
        at = 0
        for number in range(self.count):
            if at == end or head_of(p, at, end) & self.mask[number] != self.head[number]:
                return False
            here = at + 2 + self.key_length[number]
            if self.key_length[number] > _IN_HEAD and not self.has_tail(p, here, number):
                return False
            key_end[number] = here
            at = here + 4 + i32(p, here)
            value_end[number] = at
        return at == end

    def has_tail(self, p: Octets, key_end: int, number: int) -> bool:
        """Whether the key goes on as this one; of most the last eight bytes are all that is left of it."""
        if i64(p, key_end - 8) != self.tail[number]:
            return False
        length = self.key_length[number] - 8 - _IN_HEAD
        return length <= 0 or same(p, key_end - 8 - length, self.block, self.key_at[number] + _IN_HEAD, length)

    # -- what is found out once --------------------------------------------------------------------------------------

    def learn(self, code: int, block: bytes, names: list[bytes] | None) -> None:
        """Take the shape of this header; `names` are those that decide. CommandError when it has too many fields."""
        self.code = -1  # that of no request, should this one be refused
        self.block = block
        self.count = self.signed = self.twins = 0
        self.access = self.signature = self.token = self.unique = -1
        at, end = 0, len(block)
        while at < end:
            if self.count == MAX_FIELDS:
                raise CommandError(f"more than {MAX_FIELDS} header fields")
            at = self.add(block, at, end)
        if not self.is_plain(block):
            self.sort_by_unit()
        self.note_names(names)
        self.code = code

    def add(self, p: Octets, at: int, end: int) -> int:
        """Note the field at `at`; where the next one begins."""
        number = self.count
        length = i16(p, at)
        key_end = at + 2 + length
        self.mask[number] = mask_of(length)
        self.head[number] = head_of(p, at, end) & self.mask[number]
        self.tail[number] = i64(p, key_end - 8) if length > _IN_HEAD else 0
        self.key_at[number], self.key_length[number] = at + 2, length
        self.insert(p, number)
        self.count = number + 1
        return key_end + 4 + i32(p, key_end)

    def insert(self, p: Octets, number: int) -> None:
        """Put the field in its place among those before it. By halves: a peer may send long keys in the worst order."""
        low, high = 0, self.signed
        while low < high:
            middle = (low + high) >> 1
            order = self.compare(p, self.order[middle], number)
            if order == 0:
                self.twin[self.twins], self.first[self.twins] = number, self.order[middle]
                self.twins += 1
                return
            if order < 0:
                low = middle + 1
            else:
                high = middle
        moving = self.signed
        while moving > low:
            self.order[moving] = self.order[moving - 1]
            moving -= 1
        self.order[low] = number
        self.signed += 1

    def compare(self, p: Octets, one: int, other: int) -> int:
        """Below, at or above zero as the key of `one` comes before, is the same as, or comes after that of `other`."""
        length, other_length = self.key_length[one], self.key_length[other]
        shorter = length if length < other_length else other_length
        order = compared(p, self.key_at[one], p, self.key_at[other], shorter)
        return order if order != 0 else length - other_length

    def is_plain(self, p: Octets) -> bool:
        for number in range(self.count):
            if not is_ascii(p, self.key_at[number], self.key_at[number] + self.key_length[number]):
                return False
        return True

    def sort_by_unit(self) -> None:
        keys = [self.block[self.key_at[n] : self.key_at[n] + self.key_length[n]].decode() for n in range(self.count)]
        numbers = [self.order[place] for place in range(self.signed)]
        for place, number in enumerate(sorted(numbers, key=lambda n: utf16_units(keys[n]))):
            self.order[place] = number

    def note_names(self, names: list[bytes] | None) -> None:
        self.access, self.signature = self.find(_ACCESS_KEY), self.find(_SIGNATURE)
        self.token, self.unique = self.find(_SECURITY_TOKEN), self.find(_UNIQUE_KEY_QUERY)
        self.decides = -1
        if names is not None:
            self.decides = len(names)
            for place, name in enumerate(names):
                self.deciding[place] = self.find(name)
        self.leave_out(self.signature)

    def find(self, name: bytes) -> int:
        """The number of the field of that name, or -1."""
        for number in range(self.count):
            if self.key_length[number] == len(name) and same(self.block, self.key_at[number], name, 0, len(name)):
                return number
        return -1

    def leave_out(self, number: int) -> None:
        kept = 0
        for place in range(self.signed):
            if self.order[place] != number:
                self.order[kept] = self.order[place]
                kept += 1
        self.signed = kept


def head_of(p: Octets, at: int, end: int) -> int:
    """The first eight bytes of a field; zeros stand behind the last one where it is shorter."""
    if end - at >= 8:
        return i64(p, at)
    value, shift = 0, 64
    while at < end:
        shift -= 8
        value |= cython.cast(cython.longlong, p[at]) << shift  # a C int would lose what is shifted beyond its 32 bits
        at += 1
    return value


def mask_of(length: int) -> int:
    """Which bits of a field's head are its key's, and the length of that."""
    unused = 8 * (_IN_HEAD - length) if length < _IN_HEAD else 0
    mask: int = ~((cython.cast(cython.longlong, 1) << unused) - 1)
    return mask
