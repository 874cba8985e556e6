# cython: annotation_typing=False
"""One counter of the broker's figures; compiled, because every message passes one."""

from __future__ import annotations

from typing import Any


class Counter:
    """How many, how many bytes, and how many microseconds it took; `history` is for whoever samples it."""

    def __init__(self) -> None:
        self.count = 0
        self.size = 0
        self.micros = 0
        self.history: Any = None
