# cython: annotation_typing=False
"""One counter of the broker's figures; compiled, because every message passes one."""

from __future__ import annotations


class Counter:
    """How many, and how many bytes."""

    def __init__(self) -> None:
        self.count = 0
        self.size = 0
