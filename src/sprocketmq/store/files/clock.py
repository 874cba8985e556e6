"""The time as broker and store see it: a test sets it by implementing `Clock`."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    def now_ms(self) -> int:
        """Milliseconds since 1970. It may be set: how long something takes is told by the other."""
        ...

    def monotonic_ms(self) -> int:
        """Milliseconds since some moment; nobody sets it, and it goes on while the machine sleeps."""
        ...
