"""What a setting may be, told by its default: a value of another kind raises where it is given, and names the field.

A consumer whose `consume_from` means nothing, or whose batch is empty, would otherwise wait in silence.
"""

from __future__ import annotations

import os
import re
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
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
    if default is MISSING:
        return None
    if isinstance(default, bool):
        return None if isinstance(value, bool) else (TypeError, "must be True or False")
    if isinstance(default, (int, float)):
        return _number_fault(name, value, default)
    if choices := _CHOICE.findall(annotation):
        return _choice_fault(value, choices, takes_time="datetime" in annotation)
    if isinstance(default, str) and not isinstance(value, str):
        return TypeError, "must be a str"
    if is_dataclass(default) and type(value) is not type(default):
        return TypeError, f"must be {type(default).__name__}"
    if callable(default) and not callable(value):
        return TypeError, "must be callable"
    if "Path" in annotation and not isinstance(value, os.PathLike | None):
        return TypeError, "must be a Path"
    return None


def _choice_fault(value: Any, choices: list[str], *, takes_time: bool) -> tuple[type[Exception], str] | None:
    if value in choices or (takes_time and isinstance(value, datetime)):
        return None
    wanted = "must be one of " + ", ".join(choices) + (", or a datetime" if takes_time else "")
    return ValueError if isinstance(value, str) else TypeError, wanted


def _number_fault(name: str, value: Any, default: float) -> tuple[type[Exception], str] | None:
    is_whole = type(default) is int
    if isinstance(value, bool) or not isinstance(value, int if is_whole else (int, float)):
        return TypeError, "must be a whole number" if is_whole else "must be a number"
    if not isfinite(value):
        return ValueError, "must be finite"
    least = 1 if is_whole and default > 0 and name not in _MAY_BE_ZERO else min(default, 0)
    return None if value >= least else (ValueError, f"must be at least {least:g}")
