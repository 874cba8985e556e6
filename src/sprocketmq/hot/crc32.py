"""CRC-32 by the processor's own carry-less multiplication, in the hot modules: sixteen bytes are folded into sixteen.

Interpreted it is zlib's. ADR 8 has the measurement that this rests on.
"""

from __future__ import annotations

import zlib

from sprocketmq.hot.octets import Octets


def can_fold() -> bool:
    """Whether the processor can."""
    return False


def folded_blocks(before: int, p: Octets, at: int, length: int) -> int:
    """The sum of the bytes before goes on over these, which are whole blocks of sixteen, and at least one."""
    return zlib.crc32(p[at : at + length], before)
