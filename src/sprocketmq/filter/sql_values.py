"""The values of SQL92 expressions and the order Java gives them.

    value := None | bool | int | float | str       NULL, Boolean, Integer or Long, Double, String

A message's properties are text. Next to a number the text is read as that number's type: an Integer reads 32-bit
integers only, a Long 64-bit ones, a Double what `Double.valueOf` takes. Text that does not fit is an EvaluateError.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from sprocketmq.errors import EvaluateError

Value = bool | int | float | str | None

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1

_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?")
_HEX = re.compile(r"[+-]?0[xX]([0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFdD]?")
_NAMED = {"NaN": math.nan, "Infinity": math.inf}
_TRIMMED = "".join(map(chr, range(0x21)))  # String.trim: everything up to the blank


def to_integer(text: str) -> int:
    """`Integer.valueOf`: an optional sign and decimal digits, of any script."""
    if len(text) < 10 and text.isascii() and text.isdecimal():  # nearly always, and in range
        return int(text)
    value = _digits(text)
    if not -INT_MAX - 1 <= value <= INT_MAX:
        raise EvaluateError(f"{text[:40]} is out of range for a 32-bit integer")
    return value


def to_long(text: str) -> int:
    """`Long.valueOf`."""
    value = _digits(text)
    if not -LONG_MAX - 1 <= value <= LONG_MAX:
        raise EvaluateError(f"{text[:40]} is out of range for a 64-bit integer")
    return value


def _digits(text: str) -> int:
    digits = text if text.isdecimal() else text[1:] if text[:1] in ("+", "-") else ""
    # Java looks at UTF-16 units, so that a digit outside the BMP is none.
    if not digits.isdecimal() or not (digits.isascii() or max(digits) <= "\uffff"):
        raise EvaluateError(f"{text[:40]!r} is not an integer")
    try:
        return int(text)
    except ValueError:  # more digits than Python converts
        raise EvaluateError(f"an integer of {len(digits)} digits") from None


def to_double(text: str) -> float:
    """`Double.valueOf`: blanks around it, a type suffix, hexadecimal, NaN and Infinity are all allowed."""
    trimmed = text.strip(_TRIMMED)
    if _DECIMAL.fullmatch(trimmed):
        return float(trimmed.rstrip("fFdD"))
    if _HEX.fullmatch(trimmed):
        return _from_hex(trimmed)
    unsigned = trimmed[1:] if trimmed[:1] in ("+", "-") else trimmed
    if unsigned not in _NAMED:
        raise EvaluateError(f"{text[:40]!r} is not a number")
    return -_NAMED[unsigned] if trimmed[0] == "-" else _NAMED[unsigned]


def _from_hex(text: str) -> float:
    try:
        return float.fromhex(text.rstrip("fFdD"))
    except OverflowError:
        return -math.inf if text[0] == "-" else math.inf


def reader_of(number: int | float) -> Callable[[str], int | float]:
    """How text is read beside `number`.

    A literal is an Integer when it fits, and a sign does not change its type: -2147483648 stays a Long.
    """
    if isinstance(number, float):
        return to_double
    return to_integer if -INT_MAX <= number <= INT_MAX else to_long


def order(left: Value, right: Value) -> int:
    """Negative, 0 or positive as `left` is below, equal to or above `right`; neither is None."""
    if isinstance(left, bool) or isinstance(right, bool):
        return _order_booleans(left, right)
    if isinstance(left, str):
        if not isinstance(right, str):
            assert right is not None
            return _order_numbers(reader_of(right)(left), right)
        return (left > right) - (left < right)
    assert left is not None
    assert right is not None
    return _order_numbers(left, reader_of(left)(right) if isinstance(right, str) else right)


def _order_booleans(left: Value, right: Value) -> int:
    if isinstance(left, str):
        left = left.lower() == "true"
    elif isinstance(right, str):  # RocketMQ converts the wrong side here, and fails
        raise EvaluateError(f"a boolean on the left cannot be compared with the text {right[:40]!r}")
    if not (isinstance(left, bool) and isinstance(right, bool)):
        return -1
    return left - right


def _order_numbers(left: int | float, right: int | float) -> int:
    if isinstance(left, int) and isinstance(right, int):
        return (left > right) - (left < right)
    return order_doubles(float(left), float(right))


def order_doubles(left: float, right: float) -> int:
    """`Double.compareTo`: NaN equals itself and lies above all others; -0.0 lies below 0.0."""
    if left < right:
        return -1
    if left > right:
        return 1
    return (_rank(left) > _rank(right)) - (_rank(left) < _rank(right))


def _rank(number: float) -> int:
    """Tells apart what the operators call equal or cannot order."""
    if number != number:
        return 2
    return 0 if number == 0 and math.copysign(1, number) < 0 else 1
