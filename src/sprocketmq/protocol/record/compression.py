"""Compressed bodies: a zlib stream, an LZ4 frame or a zstd frame, as the sysFlag says.

Decompression is bounded: it stops with BodyError as soon as the output passes its limit, whatever the peer sent.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import cache
from typing import Any

from sprocketmq import extras
from sprocketmq.errors import BodyError
from sprocketmq.protocol.record.sysflag import CompressionType

DEFAULT_LEVEL = 5
DEFAULT_LIMIT = 64 * 1024 * 1024

_PIECE = 256 * 1024  # of output, between two looks at the limit
_ZSTD_SLICE = 128  # of input: a block takes 4 bytes and makes at most 128 KiB, so one slice makes at most 4 MiB
_ZSTD_WINDOW = 8 * 1024 * 1024  # what the levels below 20 use


def compress(data: bytes, kind: CompressionType, level: int = DEFAULT_LEVEL) -> bytes:
    """`data` compressed; `level` is zlib's and zstd's, LZ4 always takes its fast way, as in Java."""
    if kind is CompressionType.ZLIB:
        return zlib.compress(data, level)
    if kind is CompressionType.LZ4:
        return bytes(_lz4().compress(data))
    return bytes(_zstandard().ZstdCompressor(level).compress(data))


def decompress(data: bytes, kind: CompressionType, limit: int = DEFAULT_LIMIT) -> bytes:
    """The bytes in `data`; BodyError when it is damaged, ends early or holds more than `limit`."""
    pieces, size = [], 0
    try:
        for piece in _PIECES[kind](data):
            size += len(piece)
            if size > limit:
                raise BodyError(f"{kind.name} body of {len(data)} bytes holds more than {limit}")
            pieces.append(piece)
    except (zlib.error, RuntimeError, EOFError) as damage:  # lz4 raises the last two
        raise BodyError(f"damaged {kind.name} body: {damage}") from None
    return b"".join(pieces)


def _zlib_pieces(data: bytes) -> Iterator[bytes]:
    stream = zlib.decompressobj()
    while not stream.eof:
        piece = stream.decompress(data, _PIECE)
        data = stream.unconsumed_tail
        if not piece and not stream.eof and not data:
            raise EOFError("it ends early")
        yield piece


def _lz4_pieces(data: bytes) -> Iterator[bytes]:
    stream = _lz4().LZ4FrameDecompressor()
    while not stream.eof:
        piece = stream.decompress(data, max_length=_PIECE)
        if not piece and not stream.eof and stream.needs_input:
            raise EOFError("it ends early")
        data = b""
        yield piece


def _zstd_pieces(data: bytes) -> Iterator[bytes]:
    zstandard = _zstandard()
    stream = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()
    try:
        for at in range(0, len(data), _ZSTD_SLICE):
            yield stream.decompress(data[at : at + _ZSTD_SLICE])
            if stream.eof:
                return
    except zstandard.ZstdError as damage:
        raise RuntimeError(str(damage)) from None
    raise EOFError("it ends early")


@cache
def _lz4() -> Any:
    extras.need("an LZ4 body", "lz4", "lz4")
    import lz4.frame

    return lz4.frame


@cache
def _zstandard() -> Any:
    extras.need("a zstd body", "zstandard", "zstd")
    import zstandard

    return zstandard


_PIECES = {
    CompressionType.ZLIB: _zlib_pieces,
    CompressionType.LZ4: _lz4_pieces,
    CompressionType.ZSTD: _zstd_pieces,
}
