"""Hashes as Java computes them."""

from __future__ import annotations


def string_hash(text: str) -> int:
    """`String.hashCode`: a signed 32-bit sum over UTF-16 units."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        value = (value * 31 + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    return value - 0x1_0000_0000 if value & 0x8000_0000 else value


def tags_code(tags: str | None) -> int:
    """What a ConsumeQueue entry stores for a tag; 0 stands for none."""
    return string_hash(tags) if tags else 0


def index_key_hash(topic: str, key: str) -> int:
    """The hash of `topic#key` in an IndexFile; never negative."""
    value = abs(string_hash(f"{topic}#{key}"))
    return 0 if value == 0x8000_0000 else value
