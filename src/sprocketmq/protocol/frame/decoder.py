# cython: annotation_typing=False
"""Remoting frames as bytes and nothing else.

frame   := length:i32  head:u32  header  body
length   = 4 + len(header) + len(body)           it does not count itself
head     = serialize_type << 24 | len(header)

binary  := code:i16 language:u8 version:i16 opaque:i32 flag:i32
           remark_length:i32 remark  ext_length:i32 ext*
ext     := key_length:i16 key value_length:i32 value
json     = an object with code, extFields, flag, language, opaque, remark, serializeTypeCurrentRPC, version

Whatever is wrong with the bytes is a FrameError, raised as soon as it can be seen. A header is checked whole when
its frame is: what a Command decodes later cannot fail.
"""

from __future__ import annotations

from io import BytesIO

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.errors import FrameError
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.binary_header import encode_block
from sprocketmq.protocol.frame.json_header import MAX_EXT_FIELDS, MAX_EXT_NAME, encode_json_header

if not cython.compiled:
    from sprocketmq.hot.octets import Octets, blank, cut, i16, i32, is_ascii, put, put_i16, put_i32, seal, text
    from sprocketmq.protocol.frame.json_header import decode_json_header

MAX_FRAME_BYTES = 16 * 1024 * 1024  # what Java peers accept by default

MAX_HEADER_BYTES = 1024 * 1024  # far above any real one; servers take less of their peers
#: Real requests have thirty fields at most, and names of thirty letters.
_MAX_FIELDS, _MAX_NAME = MAX_EXT_FIELDS, MAX_EXT_NAME

#: A body of which more is missing is long: it is gathered where it stays.
_LONG_BYTES = 64 * 1024

JSON = 0
ROCKETMQ = 1
FIXED_BYTES = 21  # a binary header without remark and ext fields


class FrameDecoder:
    """Takes bytes as they arrive, gives whole commands; keeps what is left for the next read.

    Memory follows what has arrived, never what a length field announces. Whole commands in front of damage are given
    first, and `failure` says what came behind them; from then on every feed raises it, for there is no way to find the
    next frame.

    A long body is not gathered in one place and copied to another when it is whole: for one of 8 MiB that would take
    several milliseconds at once, most of them for fresh pages. A BytesIO grows where it is, and gives its bytes away.
    """

    def __init__(self, max_bytes: int = MAX_FRAME_BYTES, max_header: int = MAX_HEADER_BYTES) -> None:
        self._max_bytes = max_bytes
        self._max_header = max_header
        self._pending = bytearray()
        self._wanted = 0
        #: A command whose long body is on its way, what has come of its frame, and what is missing.
        self._begun: Command | None = None
        self._body = BytesIO()
        self._begun_bytes = self._missing = 0
        self.failure: str | None = None
        #: Which limit the failure is about, if any: "frames" or "headers".
        self.passed_limit = ""

    @property
    def pending(self) -> int:
        """Bytes of a frame that has begun and is not whole yet."""
        return len(self._pending) + self._begun_bytes

    def drop(self) -> None:
        """Forget the frame that has begun; nothing is read any more."""
        self._pending = bytearray()
        self._begun, self._body = None, BytesIO()
        self._begun_bytes = self._missing = 0
        self.failure = "dropped"

    def feed(self, data: bytes) -> list[Command]:
        if self.failure is not None:
            raise FrameError(self.failure)
        commands: list[Command] = []
        try:
            self._feed(data, commands)
        except (FrameError, ValueError) as error:
            self.failure = str(error)
            if not commands:
                raise FrameError(self.failure) from None
        return commands

    def _feed(self, data: bytes, commands: list[Command]) -> None:
        if self._missing:
            data = self._go_on(data, commands)
        have = len(data)
        if not self._pending:
            used = self._decode(data, have, commands)
            if used == have:
                return
            self._pending += data[used:]
        else:
            self._pending += data
            have = len(self._pending)
            if have >= self._wanted:  # a frame that comes in small pieces is not looked at again for each of them
                # A pointer into it when compiled: nothing that is called from there makes `_pending` longer.
                used = self._decode(self._pending, have, commands)
                del self._pending[:used]
        if self._wanted - len(self._pending) > _LONG_BYTES:
            self._begin(self._pending, len(self._pending))

    def _begin(self, p: Octets, have: int) -> None:
        """Take the header of a frame with a long body, when it is there, and have the body go to its own place."""
        header_end = 8 + (i32(p, 4) & 0xFFFFFF) if have >= 8 else have + 1
        if have < header_end or self._wanted - header_end <= _LONG_BYTES:
            return
        self._begun = decode_at(p, 4, header_end)
        self._body.write(cut(p, header_end, have))
        self._begun_bytes, self._missing = have, self._wanted - have
        self._pending = bytearray()

    def _go_on(self, data: bytes, commands: list[Command]) -> bytes:
        """What of `data` is behind the long body."""
        have, missing = len(data), self._missing
        if have < missing:
            self._body.write(data)
            self._begun_bytes += have
            self._missing -= have
            return b""
        self._body.write(data if have == missing else data[:missing])
        command = self._begun
        if command is not None:
            command.body = self._body.getvalue()
            commands.append(command)
        self._begun, self._body = None, BytesIO()
        self._begun_bytes = self._missing = 0
        return data[missing:]

    def _decode(self, p: Octets, have: int, commands: list[Command]) -> int:
        """Appends the whole frames of p[:have]; returns where the rest begins and notes how much it still wants."""
        at = 0
        self._wanted = 4
        while have - at >= 4:
            length = i32(p, at)
            if length < 4 or length > self._max_bytes:
                self.passed_limit = "frames" if length > self._max_bytes and length >> 24 != 0x16 else ""
                raise FrameError("TLS, which is not spoken here" if length >> 24 == 0x16 else f"frame length {length}")
            if have - at >= 8:
                check_head(p, at + 4, length)
                if i32(p, at + 4) & 0xFFFFFF > self._max_header:
                    self.passed_limit = "headers"
                    raise FrameError(f"header of {i32(p, at + 4) & 0xFFFFFF} bytes")
            self._wanted = 4 + length
            if have - at < self._wanted:
                break
            commands.append(decode_at(p, at + 4, at + 4 + length))
            at += 4 + length
            self._wanted = 4
        return at


def check_head(p: Octets, at: int, length: int) -> None:
    head = i32(p, at)
    if head >> 24 != JSON and head >> 24 != ROCKETMQ:
        raise FrameError(f"serialize type {head >> 24 & 0xFF}")
    if 4 + (head & 0xFFFFFF) > length:
        raise FrameError(f"header of {head & 0xFFFFFF} bytes in a frame of {length}")


def decode_frame(frame: bytearray, size: int) -> Command:
    """The command of the whole frame frame[:size], whose length field says so too."""
    check_head(frame, 4, size - 4)
    try:
        return decode_at(frame, 4, size)
    except ValueError as error:
        raise FrameError(str(error)) from None


def decode_at(p: Octets, at: int, end: int) -> Command:
    """The command whose head is at `at` and whose body ends at `end`."""
    head = i32(p, at)
    header_at = at + 4
    header_end = header_at + (head & 0xFFFFFF)
    if head >> 24 == JSON:
        command = decode_json_header(p, header_at, header_end)
    else:
        command = decode_binary_header(p, header_at, header_end)
    if header_end < end:
        command.body = cut(p, header_end, end)
    return command


def decode_binary_header(p: Octets, at: int, end: int) -> Command:
    if end - at < FIXED_BYTES:
        raise FrameError(f"binary header of {end - at} bytes")
    remark_length = i32(p, at + 13)
    ext_at = at + 17 + remark_length + 4
    if remark_length < 0 or ext_at > end:
        raise FrameError(f"remark of {remark_length} bytes in a header of {end - at}")
    ext_length = i32(p, ext_at - 4)
    if ext_length < 0 or ext_length > end - ext_at:
        raise FrameError(f"ext fields of {ext_length} bytes in a header of {end - at}")
    command = Command.__new__(Command)  # compiled, nine assignments cost less than a constructor with as many arguments
    command.code = i16(p, at)
    command.language = p[at + 2]
    command.version = i16(p, at + 3)
    command.opaque = i32(p, at + 5)
    command.flag = i32(p, at + 9)
    command.serialize_type = ROCKETMQ
    command.remark = text(p, at + 17, at + 17 + remark_length) if remark_length else None
    command.body = b""
    command.cleared_by = None
    command._ext_fields = None
    command._block = None
    if ext_length:
        check_block(p, ext_at, ext_at + ext_length)
        command._block = cut(p, ext_at, ext_at + ext_length)
    return command


def check_block(p: Octets, at: int, end: int) -> None:
    """Every key and value lies inside the block and is UTF-8, and they are not too many."""
    plain = is_ascii(p, at, end)  # one look at all of it, eight bytes at a time; nearly every header is
    count = 0
    while at < end:
        count += 1
        if count > _MAX_FIELDS:
            raise FrameError(f"more than {_MAX_FIELDS} ext fields")
        if end - at < 6:
            raise FrameError("ext field cut off")
        key_length = i16(p, at)
        if key_length < 0 or key_length > _MAX_NAME or key_length > end - at - 6:
            raise FrameError(f"ext key of {key_length} bytes")
        value_at = at + 6 + key_length
        value_length = i32(p, value_at - 4)
        if value_length < 0 or value_length > end - value_at:
            raise FrameError(f"ext value of {value_length} bytes")
        if not plain:
            check_text(p, at + 2, value_at - 4)
            check_text(p, value_at, value_at + value_length)
        at = value_at + value_length


def check_text(p: Octets, at: int, end: int) -> None:
    if not is_ascii(p, at, end):
        text(p, at, end)


def encode_frame(command: Command) -> bytes:
    """The whole frame. A name or value that its length field cannot hold is a ValueError."""
    body = command.body
    header = encode_json_header(command) if command.serialize_type == JSON else encode_binary_header(command)
    header_length, body_length = len(header), len(body)
    if header_length > 0xFFFFFF:
        raise ValueError(f"header of {header_length} bytes")
    out = blank(8 + header_length + body_length)
    p = out  # compiled, a pointer into new bytes: nobody has seen them yet, so they may still be written
    put_i32(p, 0, 4 + header_length + body_length)
    put_i32(p, 4, command.serialize_type << 24 | header_length)
    put(p, 8, header, 0, header_length)
    put(p, 8 + header_length, body, 0, body_length)
    return seal(out)


def encode_binary_header(command: Command) -> bytes:
    remark = b"" if command.remark is None else command.remark.encode()
    block = encode_ext(command)
    remark_length, block_length = len(remark), len(block)
    out = blank(FIXED_BYTES + remark_length + block_length)
    p = out
    put_i16(p, 0, command.code)
    p[2] = 7 if command.language is None else command.language  # 7 is OTHER: the byte cannot be left out
    put_i16(p, 3, command.version)
    put_i32(p, 5, command.opaque)
    put_i32(p, 9, command.flag)
    put_i32(p, 13, remark_length)
    put(p, 17, remark, 0, remark_length)
    put_i32(p, 17 + remark_length, block_length)
    put(p, FIXED_BYTES + remark_length, block, 0, block_length)
    return seal(out)


def encode_ext(command: Command) -> bytes:
    """The ext fields as a block; what was never decoded goes back as it came."""
    if command._block is not None:
        return command._block
    pairs: list[bytes] = []
    for name, value in (command._ext_fields or {}).items():
        if value is not None:
            pairs += (name.encode(), value.encode())
    return encode_block(pairs)
