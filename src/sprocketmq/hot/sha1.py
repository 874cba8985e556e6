"""SHA-1 in the hot modules, fed piece by piece, without an object for a piece or for a copy of a state.

Interpreted a state is hashlib's; compiled it is a plain struct in `sha1.pxd`, with the processor's own instructions for
SHA-1 where there are any. ADR 6 has the measurement that this rests on.
"""

from __future__ import annotations

import hashlib
import hmac

from sprocketmq.hot.octets import Octets


class Sha1:
    """What a state is while interpreted."""

    def __init__(self) -> None:
        self.hash = hashlib.sha1(usedforsecurity=False)


def sha1_start(state: Sha1, is_portable: bool) -> None:
    """`is_portable` passes over the processor's own instructions, which hashlib does not know to do."""
    state.hash = hashlib.sha1(usedforsecurity=False)


def sha1_copy(state: Sha1, other: Sha1) -> None:
    """Let `state` go on from where `other` is."""
    state.hash = other.hash.copy()


def sha1_blocks(state: Sha1, p: Octets, at: int, blocks: int) -> None:
    sha1_feed(state, p, at, 64 * blocks)


def sha1_feed(state: Sha1, p: Octets, at: int, length: int) -> None:
    state.hash.update(p[at : at + length])


def sha1_finish(state: Sha1, out: Octets) -> None:
    """Write the twenty bytes of the digest; the state is of no use then."""
    out[:20] = state.hash.digest()


def is_same_secret(p: Octets, at: int, q: Octets, other_at: int, length: int) -> bool:
    """Whether two runs of bytes are the same, in a time that does not tell how much of them is."""
    return hmac.compare_digest(bytes(p[at : at + length]), bytes(q[other_at : other_at + length]))
