"""The compile-time half of SQL92: what may stand where, and which closure it becomes.

RocketMQ decides by the form of an operand, not by its value:

    constant   a literal; TRUE, FALSE and NULL are constants and tests at once
    property   a name; where a test is wanted it becomes one that is never true
    signed     an operand behind a minus; no constant any more, whatever stands there
    test       everything that answers true, false or unknown

`<` and its kin take numbers, properties and signed operands; BETWEEN also wants constant bounds in order; `=` takes
everything but NULL; IN takes a property. Tests within tests are bounded by MAX_DEPTH; a chain of one operator is one
level however long it is, and repeated NOTs and signs add none.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import cast

from sprocketmq.errors import FilterError
from sprocketmq.filter import sql_runtime
from sprocketmq.filter.sql_runtime import Evaluate, Relation, Search, Test
from sprocketmq.filter.sql_values import LONG_MAX, Value, order

MAX_DEPTH = 64


class Form(Enum):
    CONSTANT = "constant"
    PROPERTY = "property"
    SIGNED = "signed operand"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class Term:
    """A compiled piece of an expression. `value` is a constant's, or that of a number behind its sign."""

    form: Form
    evaluate: Evaluate
    value: Value = None
    name: str = ""
    depth: int = 1
    negated: Term | None = None  # what stands behind a NOT

    @property
    def test(self) -> Test:
        """`evaluate` of a term that is a test."""
        return cast("Test", self.evaluate)

    @property
    def is_number(self) -> bool:
        return isinstance(self.value, int | float) and not isinstance(self.value, bool)

    @property
    def is_nothing(self) -> bool:
        """Whether it is always NULL: a sign before anything but a number."""
        return self.form is Form.SIGNED and self.value is None

    @property
    def is_test(self) -> bool:
        boolean = self.value is None or isinstance(self.value, bool)
        return self.form is Form.TEST or (self.form is Form.CONSTANT and boolean)


def constant(value: Value) -> Term:
    return Term(Form.CONSTANT, sql_runtime.constant(value), value)


def integer(text: str) -> Term:
    digits = text.rstrip("lL")
    if len(digits) > 19 or int(digits) > LONG_MAX:
        raise FilterError(f"{_cut(text)} is larger than a 64-bit integer")
    return constant(int(digits))


def double(text: str) -> Term:
    value = float(text)
    if value == 0 or value == float("inf"):  # RocketMQ takes the smallest double for the most negative one
        raise FilterError(f"{_cut(text)} is no positive double")
    return constant(value)


def prop(name: str) -> Term:
    return Term(Form.PROPERTY, sql_runtime.prop(name), name=name)


def negative(operand: Term) -> Term:
    if operand.is_number:
        value = -cast("int | float", operand.value)
        return Term(Form.SIGNED, sql_runtime.constant(value), value)
    if operand.is_nothing:
        return operand
    return Term(Form.SIGNED, sql_runtime.after(operand.evaluate), depth=_deeper(operand))


def as_test(term: Term) -> Term:
    if term.is_test:
        return term
    if term.form is Form.PROPERTY:
        return Term(Form.TEST, sql_runtime.property_test(term.name))
    raise FilterError(f"a test was expected, not a {term.form.value}")


def negation(operand: Term) -> Term:
    test = as_test(operand)
    if test.negated is not None:
        return test.negated
    plain = replace(test, form=Form.TEST, value=None)  # NOT NOT TRUE is no constant
    return Term(Form.TEST, sql_runtime.negation(test.test), depth=_deeper(test), negated=plain)


def both(*operands: Term) -> Term:
    return _joined(sql_runtime.both, operands)


def either(*operands: Term) -> Term:
    return _joined(sql_runtime.either, operands)


def _joined(join: Callable[[tuple[Test, ...]], Test], operands: tuple[Term, ...]) -> Term:
    tests = [as_test(operand) for operand in operands]
    return Term(Form.TEST, join(tuple(test.test for test in tests)), depth=_deeper(*tests))


def equal(left: Term, right: Term) -> Term:
    for side in (left, right):
        if side.form is Form.CONSTANT and side.value is None:
            raise FilterError("NULL cannot be compared; use IS NULL")
    if left.form is right.form is Form.CONSTANT and left.is_test and not right.is_test:
        raise FilterError("a boolean constant cannot be compared with a constant of another type")
    return Term(Form.TEST, _equality(left, right), depth=_deeper(left, right))


def _equality(left: Term, right: Term) -> Test:
    for one, other, missing in ((left, right, None), (right, left, False)):
        if one.form is Form.PROPERTY and isinstance(other.value, str):
            return sql_runtime.property_equals_text(one.name, other.value, missing)
        if one.form is Form.PROPERTY and other.is_number:
            return sql_runtime.property_equals_number(one.name, cast("int | float", other.value), missing)
    return sql_runtime.equal(left.evaluate, right.evaluate)


def compare(left: Term, right: Term, relation: Relation) -> Term:
    for side in (left, right):
        if side.form is Form.TEST or (side.form is Form.CONSTANT and not side.is_number):
            raise FilterError("only numbers and properties can be compared by order")
    return Term(Form.TEST, _comparison(left, right, relation), depth=_deeper(left, right))


def _comparison(left: Term, right: Term, relation: Relation) -> Test:
    if left.form is Form.PROPERTY and right.is_number:
        return sql_runtime.compare_property(left.name, relation, cast("int | float", right.value))
    if right.form is Form.PROPERTY and left.is_number:
        return sql_runtime.compare_property(right.name, sql_runtime.MIRRORED[relation], cast("int | float", left.value))
    return sql_runtime.compare(left.evaluate, right.evaluate, relation)


def between(operand: Term, low: Term, high: Term) -> Term:
    reaches, stays = compare(operand, low, operator.ge), compare(operand, high, operator.le)
    if low.form is high.form is Form.CONSTANT and order(high.value, low.value) < 0:
        raise FilterError(f"BETWEEN {low.value} AND {high.value} is out of order")
    return _once(operand, reaches, both(reaches, stays))


def not_between(operand: Term, low: Term, high: Term) -> Term:
    below, above = compare(operand, low, operator.lt), compare(operand, high, operator.gt)
    return _once(operand, below, either(below, above))


def _once(operand: Term, first: Term, joined: Term) -> Term:
    """One unknown comparison is as good as two, and nested ones do not double at each level."""
    return first if operand.is_nothing else joined


def is_null(operand: Term) -> Term:
    return Term(Form.TEST, sql_runtime.is_null(operand.evaluate), depth=_deeper(operand))


def among(operand: Term, texts: frozenset[str], wanted: bool) -> Term:
    if operand.form is not Form.PROPERTY:
        raise FilterError(f"IN takes a property, not a {operand.form.value}")
    return Term(Form.TEST, sql_runtime.among(operand.name, texts, wanted))


def search(operand: Term, holds: Search, piece: str, wanted: bool) -> Term:
    return Term(Form.TEST, sql_runtime.search(operand.evaluate, holds, piece, wanted), depth=_deeper(operand))


def _deeper(*terms: Term) -> int:
    depth = 1 + max(term.depth for term in terms)
    if depth > MAX_DEPTH:
        raise FilterError(f"tests are nested more than {MAX_DEPTH} deep")
    return depth


def _cut(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}..."
