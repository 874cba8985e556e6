"""The run-time half of SQL92: functions from a message's properties to a value, made once per expression.

Tests give True, False or None for unknown. A comparison of a property with a constant, which is nearly all there is
in practice, becomes a single function; everything else is nested from the general ones. AND and OR look at their
operands from left to right and stop at the first that decides, so that an error behind it never shows.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from sprocketmq.filter.sql_values import Value, order, order_doubles, reader_of, to_double

Properties = Mapping[str, str]
Evaluate = Callable[[Properties], Value]
Test = Callable[[Properties], bool | None]
#: `operator.gt` and its kin: applied to two numbers, or to an order and 0.
Relation = Callable[[float, float], bool]
#: `str.startswith` and its kin: text and piece.
Search = Callable[[str, str], bool]


def constant(value: Value) -> Evaluate:
    return lambda properties: value


def prop(name: str) -> Evaluate:
    return lambda properties: properties.get(name)


def property_test(name: str) -> Test:
    """A property where a boolean is wanted: text is never true."""
    return lambda properties: None if properties.get(name) is None else False


def after(evaluate: Evaluate) -> Evaluate:
    """NULL, once `evaluate` has had the chance to fail: what a sign makes of anything but a number."""

    def nothing(properties: Properties) -> Value:
        evaluate(properties)
        return None

    return nothing


def negation(test: Test) -> Test:
    def negated(properties: Properties) -> bool | None:
        answer = test(properties)
        return None if answer is None else not answer

    return negated


def both(tests: tuple[Test, ...]) -> Test:
    def all_of(properties: Properties) -> bool | None:
        known: bool | None = True
        for test in tests:
            answer = test(properties)
            if answer is False:
                return False
            if answer is None:
                known = None
        return known

    return all_of


def either(tests: tuple[Test, ...]) -> Test:
    def any_of(properties: Properties) -> bool | None:
        known: bool | None = False
        for test in tests:
            answer = test(properties)
            if answer:
                return True
            if answer is None:
                known = None
        return known

    return any_of


def equal(left: Evaluate, right: Evaluate) -> Test:
    """NULL equals NULL; a NULL on the left of a value is unknown, on the right of one it is false."""

    def equals(properties: Properties) -> bool | None:
        one, other = left(properties), right(properties)
        if one is None:
            return True if other is None else None
        return other is not None and order(one, other) == 0

    return equals


def property_equals_text(name: str, wanted: str, missing: bool | None) -> Test:
    def equals(properties: Properties) -> bool | None:
        text = properties.get(name)
        return missing if text is None else text == wanted

    return equals


def property_equals_number(name: str, wanted: int | float, missing: bool | None) -> Test:
    read = reader_of(wanted)

    def equals(properties: Properties) -> bool | None:
        text = properties.get(name)
        return missing if text is None else read(text) == wanted

    return equals


def compare(left: Evaluate, right: Evaluate, relation: Relation) -> Test:
    """Two texts are compared as doubles; the right side is not looked at when the left one is NULL."""

    def compares(properties: Properties) -> bool | None:
        one = left(properties)
        if one is None:
            return None
        other = right(properties)
        if other is None:
            return None
        if isinstance(one, str) and isinstance(other, str):
            return relation(order_doubles(to_double(one), to_double(other)), 0)
        return relation(order(one, other), 0)

    return compares


def compare_property(name: str, relation: Relation, number: int | float) -> Test:
    read = reader_of(number)
    nan_answer = relation(1, 0)  # NaN lies above every number

    def compares(properties: Properties) -> bool | None:
        text = properties.get(name)
        if text is None:
            return None
        value = read(text)
        return relation(value, number) if value == value else nan_answer

    return compares


def is_null(evaluate: Evaluate) -> Test:
    return lambda properties: evaluate(properties) is None


def among(name: str, texts: frozenset[str], wanted: bool) -> Test:
    def contained(properties: Properties) -> bool | None:
        text = properties.get(name)
        return None if text is None else (text in texts) is wanted

    return contained


def search(evaluate: Evaluate, holds: Search, piece: str, wanted: bool) -> Test:
    """CONTAINS and its kin are never unknown: what is not text, or an empty piece, gives false either way."""
    if not piece:
        return lambda properties: False

    def found(properties: Properties) -> bool | None:
        value = evaluate(properties)
        return isinstance(value, str) and holds(value, piece) is wanted

    return found


#: The relation that holds with its sides exchanged.
MIRRORED: dict[Relation, Relation] = {
    operator.gt: operator.lt,
    operator.ge: operator.le,
    operator.lt: operator.gt,
    operator.le: operator.ge,
}
