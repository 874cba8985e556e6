# cython: annotation_typing=False
"""The fields of one request as its sender signed them: read once, straight from the bytes of the header.

    read -> where the fields are, and their order by key (header_shape) -> HMAC over values and body -> the same text?

Every request passes here while accounts are on, so this is compiled, and makes no object for a field.

Java reads an empty value of a binary header as null, and signs that as the word `null`; of a JSON header it is empty.
Clients sign it as empty whatever the header, so that their own servers refuse them: here both readings count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Mapping

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.auth.authentication.header_shape import HeaderShape
from sprocketmq.codes import SerializeType
from sprocketmq.errors import CommandError
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.binary_header import encode_block
from sprocketmq.protocol.rocketmq_versions import V4_9_3

if not cython.compiled:
    from sprocketmq.auth.authentication.header_shape import MAX_FIELDS
    from sprocketmq.hot.octets import Octets, blank, i32, put, put_i32, put_near, same, seal
    from sprocketmq.hot.sha1 import Sha1, is_same_secret, sha1_copy, sha1_feed, sha1_finish, sha1_start

    ROOM = 1024

_BINARY = int(SerializeType.ROCKETMQ)
_LEFT_OUT_TO = V4_9_3  # clients up to this version do not sign that their query is for a unique key
_NULL = b"null"
#: A piece of a body takes some 50 us to hash, several times that without a processor's help.
PIECE = 65_536
_READINGS = 3
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


class SigningKey:
    """A secret, with the work done that is the same for every signature: both pads are hashed."""

    def __init__(self, secret: str, is_portable: bool = False) -> None:
        if not secret:
            raise ValueError("an empty secret signs nothing")
        octets = secret.encode()
        if len(octets) > 64:
            octets = hashlib.sha1(octets, usedforsecurity=False).digest()
        octets = octets.ljust(64, b"\0")
        if not cython.compiled:
            self.inner, self.outer = Sha1(), Sha1()
        sha1_start(self.inner, is_portable)
        sha1_start(self.outer, is_portable)
        self.begin(bytes(byte ^ 0x36 for byte in octets), bytes(byte ^ 0x5C for byte in octets))

    def begin(self, inner_pad: bytes, outer_pad: bytes) -> None:
        sha1_feed(self.inner, inner_pad, 0, 64)
        sha1_feed(self.outer, outer_pad, 0, 64)


class SignedFields:
    """What `read` found in the request at hand; one object serves all requests, for each is read to its end first.

    `deciding` has for a request code the names of the fields that a decision rests on; none for one that has a body to
    be asked about. So many `shapes` are remembered, by request code and serialization: a power of two.
    """

    def __init__(self, deciding: Mapping[int, list[bytes]] | None = None, shapes: int = 16) -> None:
        if not cython.compiled:
            self.key_end, self.value_end = [0] * MAX_FIELDS, [0] * MAX_FIELDS
            self.state = Sha1()
            self.digest = bytearray(21)
            self.text = bytearray(28)
            self.room = bytearray(ROOM + 16)
        self._deciding = dict(deciding or {})
        self._shapes = [HeaderShape() for _ in range(shapes)]
        self.shape = self._shapes[0]
        self.block = b""
        self.body = b""
        self.used = 0  # of `room`
        self.is_binary = self.has_empty = False
        self.signs_unique_key_query = True

    @property
    def access_key(self) -> bytes:
        number = self.shape.access
        return self.block[self.key_end[number] + 4 : self.value_end[number]] if number >= 0 else b""

    def read(self, request: Command) -> None:
        """CommandError when there are more fields than any client sends, or one of them has two values."""
        self.block = block_of(request)
        self.body = request.body if type(request.body) is bytes else bytes(request.body)
        self.is_binary = request.serialize_type == _BINARY
        self.signs_unique_key_query = request.version > _LEFT_OUT_TO
        self.shape = self._shapes[(request.code + self.is_binary) & (len(self._shapes) - 1)]
        if not self.find_fields(request.code, self.block):
            self.shape.learn(request.code, self.block, self._deciding.get(request.code))
            self.find_fields(request.code, self.block)
        if self.shape.twins:
            self.check_twins(self.block)

    def find_fields(self, code: int, block: bytes) -> bool:
        return self.shape.fits(code, block, len(block), self.key_end, self.value_end)

    def check_twins(self, p: Octets) -> None:
        """Java's binary headers have some fields twice. With two values, whoever reads the first and whoever reads the
        last would not see the same request.
        """
        for place in range(self.shape.twins):
            one, other = self.shape.first[place], self.shape.twin[place]
            length = self.value_end[one] - self.key_end[one]
            is_long = self.value_end[other] - self.key_end[other] == length
            if not is_long or not same(p, self.key_end[one], p, self.key_end[other], length):
                raise CommandError("a header field comes twice")

    # -- what a decision rests on ------------------------------------------------------------------------------------

    def is_decided_by_fields(self) -> bool:
        return self.shape.decides >= 0

    def deciding_values(self) -> bytes:
        """The request code, and the values that decide, each behind its length; -1 of one that is not there."""
        size = 4
        for place in range(self.shape.decides):
            number = self.shape.deciding[place]
            size += self.value_end[number] - self.key_end[number] if number >= 0 else 4
        out = blank(size)
        self.put_values(out)
        return seal(out)

    def put_values(self, out: Octets) -> None:
        put_i32(out, 0, self.shape.code)
        at = 4
        for place in range(self.shape.decides):
            number = self.shape.deciding[place]
            if number < 0:
                put_i32(out, at, -1)
                at += 4
            else:
                length = self.value_end[number] - self.key_end[number]  # the length field is part of it
                put(out, at, self.block, self.key_end[number], length)
                at += length

    def has_deciding_values(self, values: bytes) -> bool:
        """Whether they are these; without an object for what is nearly always the same."""
        p = self.block
        q = values
        at, end = 4, len(values)
        if end < 4 or i32(q, 0) != self.shape.code or self.shape.decides < 0:
            return False
        for place in range(self.shape.decides):
            number = self.shape.deciding[place]
            length = self.value_end[number] - self.key_end[number] if number >= 0 else 4
            if length > end - at:
                return False
            if i32(q, at) != -1 if number < 0 else not same(q, at, p, self.key_end[number], length):
                return False
            at += length
        return at == end

    def is_from(self, access_key: bytes) -> bool:
        number, length = self.shape.access, len(access_key)
        if number < 0:
            return length == 0
        at = self.key_end[number] + 4
        return self.value_end[number] - at == length and same(self.block, at, access_key, 0, length)

    # -- the signature -----------------------------------------------------------------------------------------------

    def is_signed_with(self, key: SigningKey) -> bool:
        """Whether the signature is right, in any of the readings that clients differ in."""
        for reading in range(_READINGS):
            if self.begin(key, reading):
                self.feed_body(0, len(self.body))
                if self.agrees(key):
                    return True
        return False

    def is_signed_in_turns(self, key: SigningKey) -> Generator[None, None, bool]:
        """The same in steps, for a body that takes long to hash."""
        for reading in range(_READINGS):
            if self.begin(key, reading):
                for at in range(0, len(self.body), PIECE):
                    self.feed_body(at, min(PIECE, len(self.body) - at))
                    yield
                if self.agrees(key):
                    return True
        return False

    def begin(self, key: SigningKey, reading: int) -> bool:
        """Hash the fields, read in one of three ways; False when this request has no such reading.

        0   as Java's server reads it
        1   an empty value of a binary header is empty
        2   and a token is not signed
        """
        number = self.shape.signature
        if number < 0 or self.value_end[number] - self.key_end[number] != 4 + 28:
            return False
        if reading == 0:
            self.has_empty = False
        elif not self.has_empty if reading == 1 else self.shape.token < 0:
            return False
        sha1_copy(self.state, key.inner)
        self.used = self.feed_fields(self.block, len(self.block), self.is_binary and reading == 0, reading < 2)
        return True

    def feed_fields(self, p: Octets, end: int, empty_is_null: bool, with_token: bool) -> int:
        """What of `room` they fill; it is not kept in an attribute meanwhile, for that would be read again for each."""
        used, shape = 0, self.shape
        unsigned = -1 if with_token else shape.token
        left_out = -1 if self.signs_unique_key_query else shape.unique
        for place in range(shape.signed):
            number = shape.order[place]
            if number in (unsigned, left_out):
                continue
            at = self.key_end[number] + 4
            length = self.value_end[number] - at
            if length == 0 and empty_is_null:
                self.has_empty = True
                used = self.feed(used, _NULL, 0, 4, 4)
            elif used + length > ROOM:
                used = self.feed(used, p, at, length, end)
            else:  # as nearly all are: here without `feed`, whose call costs more than the copy
                put_near(self.room, used, p, at, length, end)
                used += length
        return used

    def feed_body(self, at: int, length: int) -> None:
        self.used = self.feed(self.used, self.body, at, length, len(self.body))

    def feed(self, used: int, p: Octets, at: int, length: int, end: int) -> int:
        """Short pieces are gathered in `room` first, for a hash is fed best at once; what of it is used then."""
        if used + length > ROOM:
            sha1_feed(self.state, self.room, 0, used)
            used = 0
            if length > ROOM:
                sha1_feed(self.state, p, at, length)
                return 0
        put_near(self.room, used, p, at, length, end)
        return used + length

    def agrees(self, key: SigningKey) -> bool:
        """Whether the HMAC of what was fed is the signature."""
        sha1_feed(self.state, self.room, 0, self.used)
        sha1_finish(self.state, self.digest)
        sha1_copy(self.state, key.outer)
        sha1_feed(self.state, self.digest, 0, 20)
        sha1_finish(self.state, self.digest)
        write_base64(self.digest, self.text)
        return is_same_secret(self.text, 0, self.block, self.key_end[self.shape.signature] + 4, 28)


def block_of(request: Command) -> bytes:
    """The fields as a binary header has them; those of a JSON header that was parsed in Python are written anew."""
    if request._block is not None:
        return request._block
    fields = request._ext_fields
    if not fields:
        return b""
    return encode_block([part.encode() for name in fields for part in (name, fields[name])])


def write_base64(p: Octets, out: Octets) -> None:
    """The text of twenty bytes and a zero."""
    letters: Octets = _LETTERS
    for group in range(7):
        bits = p[3 * group] << 16 | p[3 * group + 1] << 8 | p[3 * group + 2]
        out[4 * group] = letters[bits >> 18]
        out[4 * group + 1] = letters[bits >> 12 & 63]
        out[4 * group + 2] = letters[bits >> 6 & 63]
        out[4 * group + 3] = letters[bits & 63]
    out[27] = 0x3D  # =
