"""Numbers that come as text in a message's properties, written by whoever."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"-?[0-9]{1,18}")


def number_in(text: str | None) -> int | None:
    """The number; None where there is none, or what is there is no number that 64 bits hold."""
    return int(text) if text is not None and _NUMBER.fullmatch(text) else None
