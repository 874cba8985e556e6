# cython: annotation_typing=False
"""Hashes as Java computes them: over UTF-16 units, whatever the text was before."""

from __future__ import annotations

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

if not cython.compiled:
    from sprocketmq.hot.memory import as_int32, ascii_hash
    from sprocketmq.hot.octets import Octets, cut, is_ascii

    BLANK, BAR = ord(" "), ord("|")

MASK = 0xFFFFFFFF  # for the interpreter: in C the type alone would do


def string_hash(text: str) -> int:
    """`String.hashCode`: a signed 32-bit sum over UTF-16 units."""
    return as_int32(hash_text(0, text))


def tags_code(tags: str | None) -> int:
    """What a ConsumeQueue entry stores for a tag; 0 stands for none."""
    return string_hash(tags) if tags else 0


def codes_in(expression: str) -> frozenset[int]:
    """The codes of tags joined by `||`, each without the blanks around it; a tag of blanks alone is none.

    In one look at each character: an expression may have thousands of tags, and whoever else is served waits.
    """
    codes: list[int] = []
    value = kept = bars = 0  # `kept` is the hash up to the last character that is no blank
    is_begun = False
    for char in expression:
        point = ord(char)
        if point == BAR and bars == 0:
            bars = 1
            continue
        if point == BAR:
            if is_begun:
                codes.append(as_int32(kept))
            value = bars = 0
            is_begun = False
            continue
        if bars == 1:  # one bar alone is a character of the tag
            kept = value = value * 31 + BAR & MASK
            bars = 0
            is_begun = True
        if point <= BLANK and not is_begun:
            continue
        value = next_hash(value, point)
        if point > BLANK:
            kept = value
            is_begun = True
    if bars == 1:
        kept = value * 31 + BAR & MASK
        is_begun = True
    if is_begun:
        codes.append(as_int32(kept))
    return frozenset(codes)


def index_key_hash(topic: str, key: str) -> int:
    """The hash of `topic#key` in an IndexFile; never negative."""
    return positive(as_int32(hash_text(hash_text(0, topic) * 31 + 35 & MASK, key)))


def utf8_hash(data: bytes) -> int:
    """`string_hash` of UTF-8 text; what is not UTF-8 counts as Java reads it, as U+FFFD. 0 for none."""
    return as_int32(hash_octets(0, data, 0, len(data)))


def hash_text(value: int, text: str) -> int:
    """The hash goes on from `value`."""
    for char in text:
        value = next_hash(value, ord(char))
    return value


def next_hash(value: int, point: int) -> int:
    """The hash with one more character."""
    if point > 0xFFFF:  # two units: the surrogates
        value = value * 31 + 0xD7C0 + (point >> 10) & MASK
        point = 0xDC00 + (point & 0x3FF)
    return value * 31 + point & MASK


def hash_octets(value: int, p: Octets, at: int, end: int) -> int:
    """The hash goes on from `value` over UTF-8 text, nearly always plain."""
    if is_ascii(p, at, end):
        return ascii_hash(p, at, end, value)
    return hash_text(value, cut(p, at, end).decode("utf-8", "replace"))


def positive(value: int) -> int:
    """A hash as the index keeps it."""
    if value >= 0:
        return value
    return 0 if value == -0x8000_0000 else -value  # Java's abs has no positive twin for the smallest
