"""What a setting may be, told by its default: a value of another kind raises where it is given, and names the field.

A consumer whose `consume_from` means nothing, or whose batch is empty, would otherwise wait in silence.
"""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import Any

_CHOICE = re.compile(r"'(\w+)'")  # in the text of an annotation
_MAY_BE_ZERO = frozenset({"retries", "range_retries", "compress_over", "compress_level"})


def check_settings(settings: Any) -> None:
    """TypeError or ValueError for the first field that no client could use."""
    for field in fields(settings):
        fault = _fault(field.name, getattr(settings, field.name), field.default, str(field.type))
        if fault is not None:
            kind, said = fault
            raise kind(f"{type(settings).__name__}({field.name}={getattr(settings, field.name)!r}): {said}")


def _fault(name: str, value: Any, default: Any, annotation: str) -> tuple[type[Exception], str] | None:
    if isinstance(default, bool):
        return None if isinstance(value, bool) else (TypeError, "it is True or False")
    if isinstance(default, (int, float)):
        return _number_fault(name, value, default)
    choices = _CHOICE.findall(annotation)
    if isinstance(value, str) and choices and value not in choices:
        return ValueError, "it is one of " + ", ".join(choices)
    if is_dataclass(default) and type(value) is not type(default):
        return TypeError, f"it is {type(default).__name__}"
    return None


def _number_fault(name: str, value: Any, default: float) -> tuple[type[Exception], str] | None:
    is_whole = type(default) is int
    if isinstance(value, bool) or not isinstance(value, int if is_whole else (int, float)):
        return TypeError, "it is a whole number" if is_whole else "it is a number"
    if not isfinite(value):
        return ValueError, "it is a number that has an end"
    least = 1 if is_whole and default > 0 and name not in _MAY_BE_ZERO else min(default, 0)
    return None if value >= least else (ValueError, f"it is at least {least:g}")
