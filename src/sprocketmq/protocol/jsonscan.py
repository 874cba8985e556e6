# cython: annotation_typing=False
"""JSON headers in the form that clients write them, taken apart in one pass.

The ext fields become a block as in a binary header, so that what follows need not know where they came from. Whatever
is unusual (blanks, text beyond ASCII, other types, other escapes) is left to the general parser: `scan` says None.

    header := { "code":n, "extFields":{ "key":"value", ... }, "flag":n, "language":"X", "opaque":n, ... }
"""

from __future__ import annotations

from typing import Any

try:
    import cython
except ImportError:
    from sprocketmq import _shadow as cython

from sprocketmq.codes import LanguageCode
from sprocketmq.protocol.command import Command

if not cython.compiled:
    from sprocketmq.protocol.octets import Octets, blank, cut, is_ascii, put, put_i16, put_i32, same, text

_CODE, _EXT_FIELDS, _FLAG, _LANGUAGE = b"code", b"extFields", b"flag", b"language"
_OPAQUE, _REMARK, _SERIALIZE, _VERSION = b"opaque", b"remark", b"serializeTypeCurrentRPC", b"version"
_LANGUAGES = {language.name.encode(): language for language in LanguageCode}
_ESCAPES = {0x22: 0x22, 0x5C: 0x5C, 0x2F: 0x2F, 0x62: 8, 0x66: 12, 0x6E: 10, 0x72: 13, 0x74: 9}


class HeaderScan:
    """One header. Every method moves `at` on, and says False where it meets something unusual."""

    def __init__(self, header: bytes) -> None:
        self.header = header
        self.p: Octets = header
        self.at = 0
        self.end = len(header)
        self.number = 0
        self.code = -1
        self.flag = self.opaque = self.version = 0
        self.language: Any = None
        self.remark: str | None = None
        self.block: bytes | None = None
        self.has_code = False

    def take(self, byte: int) -> bool:
        """Pass over one byte that must be there."""
        if self.at >= self.end or self.p[self.at] != byte:
            return False
        self.at += 1
        return True

    def read(self) -> bool:
        if not is_ascii(self.p, 0, self.end) or not self.take(0x7B):
            return False
        while True:
            if not self.member():
                return False
            if self.at < self.end and self.p[self.at] == 0x2C:
                self.at += 1
                continue
            return self.take(0x7D) and self.at == self.end and self.has_code

    def member(self) -> bool:
        begin = self.at + 1
        if not self.skip_text():
            return False
        length = self.at - 1 - begin
        if not self.take(0x3A):
            return False
        if self.named(begin, length, _EXT_FIELDS, 9):
            return self.ext_fields()
        if self.at < self.end and self.p[self.at] == 0x22:
            return self.text_member(begin, length)
        return self.integer() and self.number_member(begin, length)

    def named(self, begin: int, length: int, name: bytes, name_length: int) -> bool:
        return length == name_length and same(self.p, begin, name, 0, length)

    def skip_text(self) -> bool:
        """A text without escapes; `at` is behind its last quote."""
        if not self.take(0x22):
            return False
        while self.at < self.end and self.p[self.at] >= 0x20 and self.p[self.at] != 0x5C:
            self.at += 1
            if self.p[self.at - 1] == 0x22:
                return True
        return False

    def text_member(self, begin: int, length: int) -> bool:
        value_at = self.at + 1
        if not self.skip_text():
            return False
        if self.named(begin, length, _LANGUAGE, 8):
            self.language = _LANGUAGES.get(cut(self.p, value_at, self.at - 1))
        elif self.named(begin, length, _REMARK, 6):
            self.remark = text(self.p, value_at, self.at - 1)
        else:
            return self.named(begin, length, _SERIALIZE, 23)
        return True

    def integer(self) -> bool:
        negative = self.at < self.end and self.p[self.at] == 0x2D
        if negative:
            self.at += 1
        begin = self.at
        value = 0
        while self.at < self.end and 0x30 <= self.p[self.at] <= 0x39 and self.at - begin < 11:
            value = value * 10 + (self.p[self.at] - 0x30)
            self.at += 1
        length = self.at - begin
        if length == 0 or length > 10 or value > 0x7FFFFFFF or (length > 1 and self.p[begin] == 0x30):
            return False
        self.number = -value if negative else value
        return True

    def number_member(self, begin: int, length: int) -> bool:
        if self.named(begin, length, _CODE, 4):
            self.code = self.number
            self.has_code = True
        elif self.named(begin, length, _FLAG, 4):
            self.flag = self.number
        elif self.named(begin, length, _OPAQUE, 6):
            self.opaque = self.number
        elif self.named(begin, length, _VERSION, 7):
            self.version = self.number
        else:
            return False
        return True

    def ext_fields(self) -> bool:
        """Members take less room in a block than in JSON, so one as long as the header holds them all."""
        out = blank(self.end + 8)
        p = out
        used = 0
        if not self.take(0x7B):
            return False
        if self.at < self.end and self.p[self.at] == 0x7D:
            self.at += 1
            self.block = b""
            return True
        while True:
            begin = self.at + 1
            if not self.skip_text() or self.at - 1 - begin > 0x7FFF:
                return False
            length = self.at - 1 - begin
            put_i16(p, used, length)
            put(p, used + 2, self.p, begin, length)
            if not self.take(0x3A) or not self.take(0x22):
                return False
            value_at = used + 6 + length
            used = self.unescape(p, value_at)
            if used < 0:
                return False
            put_i32(p, value_at - 4, used - value_at)
            if self.at < self.end and self.p[self.at] == 0x2C:
                self.at += 1
                continue
            self.block = cut(p, 0, used)
            return self.take(0x7D)

    def unescape(self, out: Octets, to: int) -> int:
        """Copy a text to `out[to:]`, from behind its first quote to behind its last; where the copy ends, or -1."""
        while self.at < self.end:
            byte = self.p[self.at]
            self.at += 1
            if byte == 0x22:
                return to
            if byte < 0x20:
                return -1
            if byte == 0x5C:
                byte = self.escaped()
                if byte < 0:
                    return -1
            out[to] = byte
            to += 1
        return -1

    def escaped(self) -> int:
        if self.at >= self.end:
            return -1
        byte = self.p[self.at]
        self.at += 1
        if byte != 0x75:
            return _ESCAPES.get(byte, -1)
        if self.end - self.at < 4 or self.p[self.at] != 0x30 or self.p[self.at + 1] != 0x30:
            return -1
        high, low = nibble(self.p[self.at + 2]), nibble(self.p[self.at + 3])
        self.at += 4
        return high << 4 | low if 0 <= high < 8 and low >= 0 else -1


def nibble(byte: int) -> int:
    if 0x30 <= byte <= 0x39:
        return byte - 0x30
    if 0x41 <= byte <= 0x46:
        return byte - 0x37
    if 0x61 <= byte <= 0x66:
        return byte - 0x57
    return -1


def scan(header: bytes) -> Command | None:
    """The command in an ordinary JSON header; None when it needs the general parser, which also tells what is wrong."""
    found = HeaderScan(header)
    if not found.read():
        return None
    command = Command.__new__(Command)
    command.code = found.code
    command.opaque = found.opaque
    command.flag = found.flag
    command.version = found.version
    command.serialize_type = 0
    command.language = found.language
    command.remark = found.remark
    command.body = b""
    command._ext_fields = {} if found.block == b"" else None
    command._block = found.block or None
    return command
