"""What somebody may have meant who typed a name that is not there."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name most like `name`, however it is capitalised; None when none is like it."""
    import difflib

    by_lower = {each.lower(): each for each in names}
    found = difflib.get_close_matches(name.lower(), by_lower, 1, 0.7)
    return by_lower[found[0]] if found else None


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """`: did you mean X?`, or nothing."""
    meant = nearest(name, names)
    return "" if meant is None else f": did you mean {meant}?"
