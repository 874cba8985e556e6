# cython: annotation_typing=False
"""What the properties of a send ask of the broker, found in one walk over their text, and the text that is stored.

    UNIQ_KEY                                                    the unique key, which the answer repeats
    WAIT=false                                                  the answer need not wait for the disk
    DELAY, TIMER_D..., TRAN_MSG, POP_CK, INNER_MULTI_DISPATCH,  special: the interceptors must see the message
    __RMQ.TRANSIENT...
    any other                                                   stored as it is, never looked at

Of two properties with one name the later counts. A message's properties are stored as they came, followed by what the
broker adds. A message of a batch has its own, the batch's save the unique key, for each has one itself, and what the
broker adds.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

if not cython.compiled:
    from sprocketmq.hot.octets import Octets, blank, cut, find, put, same, seal

#: By their first letters, with as much of the name as tells them from all others.
_DELAY, _TIMER, _TRANSACTION, _POP = b"DELAY\x01", b"TIMER_D", b"TRAN_MSG\x01", b"POP_CK\x01"
_MULTI, _TRANSIENT = b"INNER_MULTI_DISPATCH\x01", b"__RMQ.TRANSIENT."
_UNIQUE_KEY, _WAIT, _NO_WAIT = b"UNIQ_KEY\x01", b"WAIT\x01", b"WAIT\x01false"

if not cython.compiled:
    PLAIN, SPECIAL, KEY, WAIT = range(4)


class SentProperties:
    """What `read` has found. The unique key is at [key_at, key_end) of the text; an empty one is none."""

    def __init__(self) -> None:
        self.special = False
        self.waits = True
        self.key_at = self.key_end = 0

    def read(self, own: bytes) -> None:
        self.special = False
        self.waits = True
        self.key_at = self.key_end = 0
        p = own  # a bare pointer when compiled: `own` must outlive this walk, and does as our argument
        at, end = 0, len(own)
        while at < end:
            stop = find(p, 2, at, end)
            if stop < 0:
                stop = end
            kind = kind_of(p, at, stop - at)
            if kind == KEY:
                self.key_at, self.key_end = at + 9, stop
            elif kind == WAIT:
                self.waits = stop - at != 10 or not same(p, at, _NO_WAIT, 0, 10)
            elif kind == SPECIAL:
                self.special = True
            at = stop + 1


def kind_of(p: Octets, at: int, length: int) -> int:
    """What the property in `length` bytes asks for. One without a value asks for nothing.

    The first letter decides which names are compared at all: most properties cost one comparison of a byte.
    """
    if length <= 5:
        return PLAIN
    first = p[at]
    if first == 0x55:  # U
        return KEY if length > 9 and same(p, at, _UNIQUE_KEY, 0, 9) else PLAIN
    if first == 0x57:  # W
        return WAIT if same(p, at, _WAIT, 0, 5) else PLAIN
    return SPECIAL if length > 6 and is_special(p, at, length, first) else PLAIN


def is_special(p: Octets, at: int, length: int, first: int) -> bool:
    if first == 0x44:  # D
        return same(p, at, _DELAY, 0, 6)
    if first == 0x54:  # T
        return same(p, at, _TIMER, 0, 7) or (length > 9 and same(p, at, _TRANSACTION, 0, 9))
    if first == 0x50:  # P
        return length > 7 and same(p, at, _POP, 0, 7)
    if first == 0x49:  # I
        return length > 21 and same(p, at, _MULTI, 0, 21)
    return first == 0x5F and length > 16 and same(p, at, _TRANSIENT, 0, 16)


def stored(own: bytes, added: bytes) -> bytes:
    """A message's properties: its own, closed where their last separator is missing, and what the broker adds."""
    length = len(own)
    extra = 1 if length > 0 and own[length - 1] != 2 else 0
    out = blank(length + extra + len(added))
    p = out  # a pointer into the new bytes, which nobody else has seen yet: so they may be written
    put(p, 0, own, 0, length)
    if extra:
        p[length] = 2
    put(p, length + extra, added, 0, len(added))
    return seal(out)


def shared(own: bytes, added: bytes) -> bytes:
    """What every message of a batch gets; pieces that are no properties are left out."""
    q = own
    end = len(own)
    if end == 0:
        return added
    out = blank(end + 1 + len(added))
    p = out
    at = length = 0
    while at < end:
        stop = find(q, 2, at, end)
        if stop < 0:
            stop = end
        middle = find(q, 1, at, stop)
        if at < middle < stop - 1 and not (middle == at + 8 and same(q, at, _UNIQUE_KEY, 0, 9)):
            put(p, length, own, at, stop - at)
            p[length + stop - at] = 2
            length += stop - at + 1
        at = stop + 1
    put(p, length, added, 0, len(added))
    return cut(p, 0, length + len(added))
