# cython: annotation_typing=False
"""Requests read field by field, straight from the bytes of a frame's ext block or from the texts of a JSON header.

A request gives each field a number, its place in `names`; the first `required` of them must be there.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.errors import CommandError
from sprocketmq.protocol.command import Command

if not cython.compiled:
    from sprocketmq.hot.octets import Octets, i16, i32


class FieldwiseRequest:
    __slots__ = ("last", "names", "required", "seen", "title")

    last: int
    names: tuple[str, ...]
    required: int
    seen: int
    title: str

    def number_of(self, p: Octets, at: int, end: int) -> int:
        """The number of the field with this name, or -1."""
        raise NotImplementedError

    def take(self, number: int, p: Octets, at: int, end: int) -> None:
        """Set the field from its bytes, which are at least one; a ValueError when they are not a number it can be."""
        raise NotImplementedError

    def read(self, command: Command) -> None:
        """Take all fields of the command, in either serialization; CommandError names what is wrong."""
        self.seen = 0
        self.last = 0
        try:
            if command._block is not None:
                self.read_block(command._block)
            else:
                self.read_fields(command._ext_fields or {})
        except ValueError:
            raise CommandError(f"{self.title}: {self.names[self.last]} is not a number it can be") from None
        # A bit for each field, in a C int, so at most 31: no set of names is made to find out that nothing is missing.
        all_of_them = (1 << self.required) - 1
        if self.seen & all_of_them != all_of_them:
            missing = [self.names[number] for number in range(self.required) if not self.seen >> number & 1]
            raise CommandError(f"{self.title} lacks {', '.join(missing)}")

    def read_block(self, block: bytes) -> None:
        p = block
        at, end = 0, len(block)
        while at < end:
            name_end = at + 2 + i16(p, at)  # lengths were checked when the frame was decoded (decoder.py)
            value_at = name_end + 4
            value_end = value_at + i32(p, name_end)
            self.read_one(self.number_of(p, at + 2, name_end), p, value_at, value_end)
            at = value_end

    def read_fields(self, fields: dict[str, str]) -> None:
        for number, name in enumerate(self.names):
            value = fields.get(name)
            if value:
                octets = value.encode()
                self.read_one(number, octets, 0, len(octets))

    def read_one(self, number: int, p: Octets, at: int, end: int) -> None:
        """A field that nobody asked for is passed over; an empty value is Java's null, as if it was not sent."""
        if number >= 0 and at < end:
            self.last = number
            self.take(number, p, at, end)
            self.seen |= 1 << number
