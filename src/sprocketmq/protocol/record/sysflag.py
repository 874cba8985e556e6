"""The sysFlag of a message: bits that say how its bytes are to be read, and its part in a transaction.

bit 0       the body is compressed          bit 4, 5   the born host, the store host is IPv6
bit 1       several tags                    bit 6, 7   an inner batch, to be unwrapped
bits 2-3    transaction type                bits 8-10  compression type
"""

from __future__ import annotations

from enum import IntEnum

from sprocketmq.errors import BodyError

COMPRESSED = 0x1
MULTI_TAGS = 0x2
TRANSACTION_MASK = 0xC
TRANSACTION_PREPARED = 0x4
TRANSACTION_COMMIT = 0x8
TRANSACTION_ROLLBACK = 0xC
BORN_HOST_V6 = 0x10
STORE_HOST_V6 = 0x20
NEED_UNWRAP = 0x40
INNER_BATCH = 0x80

_COMPRESSION_SHIFT = 8
_COMPRESSION_MASK = 0x7 << _COMPRESSION_SHIFT

#: The bits that say how the body is to be read: they stay with it wherever it is copied to.
BODY_MASK = COMPRESSED | _COMPRESSION_MASK


class CompressionType(IntEnum):
    """How a compressed body is compressed. Peers that know zlib alone leave the bits zero."""

    LZ4 = 1
    ZSTD = 2
    ZLIB = 3


def transaction_type(sys_flag: int) -> int:
    return sys_flag & TRANSACTION_MASK


def is_queued(sys_flag: int) -> bool:
    """Half messages and rolled back ones are in the log alone."""
    return sys_flag & TRANSACTION_MASK in (0, TRANSACTION_COMMIT)


def is_indexed(sys_flag: int) -> bool:
    """Half messages are found by their keys as well; what says that one was rolled back is no message."""
    return sys_flag & TRANSACTION_MASK != TRANSACTION_ROLLBACK


def with_transaction_type(sys_flag: int, kind: int) -> int:
    return sys_flag & ~TRANSACTION_MASK | kind


def compression_type(sys_flag: int) -> CompressionType | None:
    """How the body is compressed; None when it is not."""
    if not sys_flag & COMPRESSED:
        return None
    bits = (sys_flag & _COMPRESSION_MASK) >> _COMPRESSION_SHIFT
    try:
        return CompressionType(bits or CompressionType.ZLIB)
    except ValueError:
        raise BodyError(f"compression type {bits}") from None


def with_compression(sys_flag: int, kind: CompressionType | None) -> int:
    """`sys_flag` for a body compressed as `kind`, or not compressed."""
    plain = sys_flag & ~(_COMPRESSION_MASK | COMPRESSED)
    return plain if kind is None else plain | kind << _COMPRESSION_SHIFT | COMPRESSED
