"""Reads SQL92 text into one term. The grammar is in `sql92.lark`; its LALR table is built at the first use.

As in RocketMQ, the expression ends where the grammar cannot go on: `a = 1 b` is `a = 1`, and only the one token that
ended it must be a token at all.
"""

from __future__ import annotations

import operator
from functools import cache, partial
from pathlib import Path

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedToken
from lark.parsers.lalr_interactive_parser import InteractiveParser

from sprocketmq.errors import FilterError
from sprocketmq.filter import sql_compile
from sprocketmq.filter.sql_compile import Term
from sprocketmq.filter.sql_runtime import Relation, Search

#: Bounds what is open at one time: parentheses, signs, half-read comparisons. Some hundred levels of them fit.
MAX_STACK = 512
#: Bounds how long it takes, to some 50 ms: so many words, of which a text of a list costs a part.
MAX_WORDS = 4096
_PARTS = 3
_LIST = frozenset({"TEXT", "COMMA"})


def parse(text: str) -> Term:
    """The whole expression as one test. Raises FilterError."""
    reading = _grammar().parse_interactive(text)
    stopped_by: Token | None = None
    try:
        _feed(reading)
    except UnexpectedCharacters as stop:
        raise FilterError(f"SQL92: unexpected character {stop.char!r} at {stop.pos_in_stream}") from None
    except UnexpectedToken as stop:
        stopped_by = stop.token
    try:
        term = reading.feed_eof()  # type: ignore[no-untyped-call]
    except UnexpectedToken:
        raise FilterError(_complaint(stopped_by)) from None
    assert isinstance(term, Term)
    return term


def rest_of(text: str) -> str:
    """What stands behind the end of an expression that `parse` takes, and means nothing."""
    try:
        _feed(_grammar().parse_interactive(text))
    except UnexpectedToken as stop:
        return text[stop.token.start_pos :]
    return ""


def _feed(reading: InteractiveParser) -> None:
    state = reading.parser_state
    stack, feed, left = state.state_stack, state.feed_token, MAX_WORDS * _PARTS
    for token in reading.lexer_thread.lex(state):  # type: ignore[no-untyped-call]
        feed(token)
        left -= 1 if token.type in _LIST else _PARTS
        if left < 0:
            raise FilterError(f"SQL92: more than {MAX_WORDS} words, or as much in lists, at {token.start_pos}")
        if len(stack) > MAX_STACK:
            raise FilterError(f"SQL92: nested too deeply at {token.start_pos}")


def _complaint(stopped_by: Token | None) -> str:
    if stopped_by is None:
        return "SQL92: the expression is not complete"
    return f"SQL92: unexpected {str(stopped_by)[:40]!r} at {stopped_by.start_pos}"


class _Build:
    """One method per alias of the grammar; lark calls it with the list of children when the alternative is whole."""

    def selector(self, found: list[Term]) -> Term:
        return sql_compile.as_test(found[0])

    def either(self, found: list[Term]) -> Term:
        return sql_compile.either(*found)

    def both(self, found: list[Term]) -> Term:
        return sql_compile.both(*found)

    def equal(self, found: list[Term]) -> Term:
        return sql_compile.equal(*found)

    def not_equal(self, found: list[Term]) -> Term:
        return sql_compile.negation(sql_compile.equal(*found))

    def is_null(self, found: list[Term]) -> Term:
        return sql_compile.is_null(found[0])

    def is_not_null(self, found: list[Term]) -> Term:
        return sql_compile.negation(sql_compile.is_null(found[0]))

    def between(self, found: list[Term]) -> Term:
        return sql_compile.between(*found)

    def not_between(self, found: list[Term]) -> Term:
        return sql_compile.not_between(*found)

    def negative(self, found: list[Term]) -> Term:
        return sql_compile.negative(found[0])

    def negation(self, found: list[Term]) -> Term:
        return sql_compile.negation(found[0])

    def texts(self, found: list[Token]) -> frozenset[str]:
        return frozenset(map(_unquoted, found))

    def text(self, found: list[Token]) -> Term:
        return sql_compile.constant(_unquoted(found[0]))

    def integer(self, found: list[Token]) -> Term:
        return sql_compile.integer(found[0])

    def double(self, found: list[Token]) -> Term:
        return sql_compile.double(found[0])

    def name(self, found: list[Token]) -> Term:
        return sql_compile.prop(str(found[0]))

    true = staticmethod(lambda _: sql_compile.constant(True))
    false = staticmethod(lambda _: sql_compile.constant(False))
    null = staticmethod(lambda _: sql_compile.constant(None))


def _compare(relation: Relation, found: list[Term]) -> Term:
    return sql_compile.compare(found[0], found[1], relation)


def _among(wanted: bool, found: tuple[Term, frozenset[str]]) -> Term:
    return sql_compile.among(found[0], found[1], wanted)


def _search(holds: Search, wanted: bool, found: tuple[Term, Token]) -> Term:
    return sql_compile.search(found[0], holds, _unquoted(found[1]), wanted)


def _unquoted(text: str) -> str:
    return str(text[1:-1]).replace("''", "'")


#: The alternatives that differ by one argument only.
_FAMILIES = {
    "greater": partial(_compare, operator.gt),
    "greater_equal": partial(_compare, operator.ge),
    "less": partial(_compare, operator.lt),
    "less_equal": partial(_compare, operator.le),
    "among": partial(_among, True),
    "not_among": partial(_among, False),
    "contains": partial(_search, str.__contains__, True),
    "not_contains": partial(_search, str.__contains__, False),
    "starts_with": partial(_search, str.startswith, True),
    "not_starts_with": partial(_search, str.startswith, False),
    "ends_with": partial(_search, str.endswith, True),
    "not_ends_with": partial(_search, str.endswith, False),
}


@cache
def _grammar() -> Lark:
    source = Path(__file__).with_name("sql92.lark").read_text(encoding="utf-8")
    build = _Build()
    for alias, function in _FAMILIES.items():
        setattr(build, alias, function)
    return Lark(source, start="selector", parser="lalr", lexer="basic", transformer=build)
