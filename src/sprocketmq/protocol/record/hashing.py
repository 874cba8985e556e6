# cython: annotation_typing=False
"""Hashes as Java computes them: over UTF-16 units, whatever the text was before."""

from __future__ import annotations

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

if not cython.compiled:
    from sprocketmq.hot.octets import Octets

MASK = 0xFFFFFFFF


def string_hash(text: str) -> int:
    """`String.hashCode`: a signed 32-bit sum over UTF-16 units."""
    return signed(hash_text(0, text))


def tags_code(tags: str | None) -> int:
    """What a ConsumeQueue entry stores for a tag; 0 stands for none."""
    return string_hash(tags) if tags else 0


def index_key_hash(topic: str, key: str) -> int:
    """The hash of `topic#key` in an IndexFile; never negative."""
    return positive(signed(hash_text(hash_text(0, topic) * 31 + 35 & MASK, key)))


def index_hash(index_key: str) -> int:
    """The hash of a whole index key; never negative."""
    return positive(string_hash(index_key))


def utf8_hash(data: bytes) -> int:
    """`string_hash` of UTF-8 text; what is not UTF-8 counts as Java reads it, as U+FFFD. 0 for none."""
    return signed(hash_octets(0, data, 0, len(data)))


def index_key_hash_of(topic: bytes, key: bytes) -> int:
    """`index_key_hash` of UTF-8 text."""
    value = hash_octets(0, topic, 0, len(topic)) * 31 + 35 & MASK  # 35 is the `#`
    return positive(signed(hash_octets(value, key, 0, len(key))))


def hash_text(value: int, text: str) -> int:
    """The hash goes on from `value`."""
    for char in text:
        point = ord(char)
        if point > 0xFFFF:  # two units: the surrogates
            value = value * 31 + 0xD7C0 + (point >> 10) & MASK
            point = 0xDC00 + (point & 0x3FF)
        value = value * 31 + point & MASK
    return value


def hash_octets(value: int, p: Octets, at: int, end: int) -> int:
    start, begun = at, value
    while at < end:
        if p[at] > 0x7F:
            return hash_text(begun, p[start:end].decode("utf-8", "replace"))
        value = value * 31 + p[at] & MASK
        at += 1
    return value


def signed(value: int) -> int:
    if cython.compiled:
        return value  # the conversion does it
    return value - 0x1_0000_0000 if value > 0x7FFFFFFF else value


def positive(value: int) -> int:
    if value >= 0:
        return value
    return 0 if value == -0x8000_0000 else -value  # Java's abs has no positive twin for the smallest
