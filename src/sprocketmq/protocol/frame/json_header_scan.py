# cython: annotation_typing=False
"""A JSON header of the usual shape, read in one pass without a Python object per field.

header := { field, ... }        each known field once, in any order, white space anywhere
field  := "code" | "flag" | "opaque" | "version" : int32
        | "language" | "remark" | "serializeTypeCurrentRPC" : string without escapes
        | "extFields" : { string : string, ... }

The ext fields become a block as binary headers have it (see `binary_header`), so that all that reads one reads both. A
pair takes no more room there than in JSON: six bytes around name and value, and an escape only shrinks.

Whatever is not of this shape, a name that occurs twice, a number among the ext fields, a surrogate, a fault, is left
to the general parser: `scan_header` says None, and decides nothing.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.codes import LanguageCode
from sprocketmq.protocol.command import Command

if not cython.compiled:
    from sprocketmq.hot.octets import (  # isort: skip
        Octets, blank, cut, i16, i32, is_utf8, plain_end, put, put_i16, put_i32, same, text,
    )  # fmt: skip

    CODE, FLAG, OPAQUE, VERSION, LANGUAGE, REMARK, SERIALIZE_TYPE, EXT_FIELDS = range(8)
    QUOTE, COMMA, COLON, BACKSLASH, OPEN, CLOSE = b'",:\\{}'
    MAX_PAIRS = 64

_CODE, _FLAG, _OPAQUE, _VERSION, _LANGUAGE, _REMARK = b"code", b"flag", b"opaque", b"version", b"language", b"remark"
_SERIALIZE_TYPE, _EXT_FIELDS = b"serializeTypeCurrentRPC", b"extFields"
_LANGUAGES = {language.name.encode(): language for language in LanguageCode}


def scan_header(header: bytes) -> Command | None:
    return scan_at(header, 0, len(header))


def scan_at(p: Octets, at: int, end: int) -> Command | None:
    """The command whose header is p[at:end], without its body; None when the general parser must look at it."""
    if not is_utf8(p, at, end):
        return None
    command = Command.__new__(Command)  # as in decoder.py: compiled, assignments cost less than a constructor
    command.code = command.opaque = command.flag = command.version = command.serialize_type = 0
    command.language = command.remark = command.cleared_by = command._ext_fields = command._block = None
    command.body = b""
    scan = HeaderScan()
    return command if scan.take(p, at, end, command) else None


class HeaderScan:
    """A place in a header. Each step returns False where the shape is another, and the scan is over."""

    __slots__ = ("at", "block", "end", "here", "name_bits", "number", "p", "pairs", "seen", "text_at", "text_end")

    def take(self, p: Octets, at: int, end: int, command: Command) -> bool:
        self.p, self.at, self.end, self.seen = p, at, end, 0
        if not self.passes(OPEN):
            return False
        while self.field(command):
            if not self.passes(COMMA):
                return self.passes(CLOSE) and self.skip() == end and self.seen & 1 << CODE != 0
        return False

    def skip(self) -> int:
        """Step over white space; where that leads."""
        p, at, end = self.p, self.at, self.end
        while at < end and (p[at] == 0x20 or 0x09 <= p[at] <= 0x0A or p[at] == 0x0D):
            at += 1
        self.at = at
        return at

    def passes(self, byte: int) -> bool:
        """Step over `byte`, if it comes next."""
        at = self.skip()
        if at == self.end or self.p[at] != byte:
            return False
        self.at = at + 1
        return True

    def field(self, command: Command) -> bool:
        if not self.string():
            return False
        number = field_number(self.p, self.text_at, self.text_end - self.text_at)
        if number < 0 or self.seen >> number & 1 or not self.passes(COLON):
            return False
        self.seen |= 1 << number
        if number == EXT_FIELDS:
            return self.ext_fields(command)
        return self.word(command, number) if number > VERSION else self.count(command, number)

    def string(self) -> bool:
        """Step over a string without escapes and note where its text lies."""
        if not self.passes(QUOTE):
            return False
        self.text_at = self.at
        self.text_end = plain_end(self.p, self.at, self.end)
        self.at = self.text_end + 1
        return self.text_end < self.end and self.p[self.text_end] == QUOTE

    def word(self, command: Command, number: int) -> bool:
        if not self.string():
            return False
        if number == LANGUAGE:
            command.language = _LANGUAGES.get(cut(self.p, self.text_at, self.text_end))
        elif number == REMARK:
            command.remark = text(self.p, self.text_at, self.text_end)
        return True

    def count(self, command: Command, number: int) -> bool:
        if not self.integer():
            return False
        if number == CODE:
            command.code = self.number
        elif number == FLAG:
            command.flag = self.number
        elif number == OPAQUE:
            command.opaque = self.number
        else:
            command.version = self.number
        return True

    def integer(self) -> bool:
        """Step over an int32 as JSON spells it, and note it."""
        at, end = self.skip(), self.end
        negative = at < end and self.p[at] == 0x2D
        at += negative
        first, value = at, 0
        while at < end and 0x30 <= self.p[at] <= 0x39 and at - first < 10:
            value = value * 10 + (self.p[at] - 0x30)
            at += 1
        if at == first or value - negative > 0x7FFFFFFF or (self.p[first] == 0x30 and at - first + negative > 1):
            return False
        self.at = at
        self.number = -value if negative else value
        return True

    def ext_fields(self, command: Command) -> bool:
        if not self.passes(OPEN):
            return False
        self.here = self.pairs = self.name_bits = 0
        self.block = blank(self.end - self.at + 2)  # two more: a header that is cut off lacks its last two marks
        if not self.passes(CLOSE):
            while self.pair(self.block):
                if not self.passes(COMMA):
                    break
            else:
                return False
            if not self.passes(CLOSE):
                return False
        command._block = cut(self.block, 0, self.here)
        return True

    def pair(self, out: Octets) -> bool:
        name_at = self.here + 2
        if not self.copy(out, name_at):
            return False
        name_length = self.here - name_at
        if name_length > 255 or self.pairs == MAX_PAIRS or self.has_name(out, name_at, name_length):
            return False
        put_i16(out, name_at - 2, name_length)
        value_at = self.here + 4
        if not self.passes(COLON) or not self.copy(out, value_at):
            return False
        put_i32(out, value_at - 4, self.here - value_at)
        self.pairs += 1
        return True

    def has_name(self, out: Octets, name_at: int, length: int) -> bool:
        """Whether the block has this name already. Sixty-four bits tell most names apart without looking."""
        bit = 1
        if length:
            bit <<= (out[name_at] + 5 * length + 11 * out[name_at + length - 1]) & 63
        known = self.name_bits & bit
        self.name_bits |= bit
        at = 0
        while known and at < name_at - 2:
            other = i16(out, at)
            if other == length and same(out, at + 2, out, name_at, length):
                return True
            at += 6 + other + i32(out, at + 2 + other)
        return False

    def copy(self, out: Octets, here: int) -> bool:
        """Step over a string and write its text to `here`."""
        if not self.passes(QUOTE):
            return False
        p, at, end = self.p, self.at, self.end
        while at >= 0:
            stop = plain_end(p, at, end)
            put(out, here, p, at, stop - at)
            here += stop - at
            if stop == end or p[stop] < 0x20:
                return False
            if p[stop] == QUOTE:
                self.here, self.at = here, stop + 1
                return True
            value = escape_value(p, stop + 1, end)
            here = put_utf8(out, here, value)
            at = -1 if value < 0 else stop + 6 if p[stop + 1] == 0x75 else stop + 2
        return False


def field_number(p: Octets, at: int, length: int) -> int:
    """The field with this name; -1 when it is none of ours. Its length leaves two at most."""
    if length == 4:
        return CODE if same(p, at, _CODE, 0, 4) else FLAG if same(p, at, _FLAG, 0, 4) else -1
    if length == 6:
        return OPAQUE if same(p, at, _OPAQUE, 0, 6) else REMARK if same(p, at, _REMARK, 0, 6) else -1
    if length == 7:
        return VERSION if same(p, at, _VERSION, 0, 7) else -1
    if length == 8:
        return LANGUAGE if same(p, at, _LANGUAGE, 0, 8) else -1
    if length == 9:
        return EXT_FIELDS if same(p, at, _EXT_FIELDS, 0, 9) else -1
    return SERIALIZE_TYPE if length == 23 and same(p, at, _SERIALIZE_TYPE, 0, 23) else -1


def escape_value(p: Octets, at: int, end: int) -> int:
    """The character that the escape after a backslash means; -1 for a surrogate or no escape at all."""
    if at >= end:
        return -1
    byte: int = p[at]
    if byte == 0x75:
        return hex_value(p, at + 1) if end - at > 4 else -1
    if byte in (QUOTE, BACKSLASH, 0x2F):
        return byte
    if byte in (0x6E, 0x72, 0x74):  # n, r, t
        return 10 if byte == 0x6E else 13 if byte == 0x72 else 9
    return 8 if byte == 0x62 else 12 if byte == 0x66 else -1  # b, f


def hex_value(p: Octets, at: int) -> int:
    value = 0
    for here in range(at, at + 4):
        digit = p[here]
        if 0x30 <= digit <= 0x39:
            value = value << 4 | digit - 0x30
        elif 0x61 <= digit | 0x20 <= 0x66:
            value = value << 4 | (digit | 0x20) - 0x57
        else:
            return -1
    return -1 if 0xD800 <= value < 0xE000 else value


def put_utf8(out: Octets, here: int, value: int) -> int:
    """Write one character of the basic plane; where it ends."""
    if value < 0:
        return here
    if value < 0x80:
        out[here] = value
        return here + 1
    if value < 0x800:
        out[here] = 0xC0 | value >> 6
        out[here + 1] = 0x80 | value & 0x3F
        return here + 2
    out[here] = 0xE0 | value >> 12
    out[here + 1] = 0x80 | value >> 6 & 0x3F
    out[here + 2] = 0x80 | value & 0x3F
    return here + 3
