"""SQL92 expressions over a message's properties, compiled once and applied many times.

    compile_sql("price > 100 AND region IN ('eu', 'us')").evaluate({"price": "120", "region": "eu"})  ->  True

The answer is True, False or None for unknown; a consumer gets a message when it is True. An expression is bounded in
length (and, in `sql_compile`, in depth), so that a subscription can neither exhaust the stack nor stall the broker.
"""

from __future__ import annotations

from collections.abc import Mapping

from sprocketmq import extras
from sprocketmq.errors import EvaluateError, FilterError
from sprocketmq.filter.sql_runtime import Test

MAX_LENGTH = 64 * 1024


class SqlExpression:
    """A compiled expression; it keeps no state between messages."""

    __slots__ = ("evaluate", "text")

    evaluate: Test
    """The answer for a dict of properties. Raises EvaluateError where a property cannot be read as asked."""

    def __init__(self, text: str, evaluate: Test) -> None:
        self.text = text
        self.evaluate = evaluate

    def matches(self, properties: Mapping[str, str]) -> bool:
        """A broker's decision: unknown is no match, and neither is a property that cannot be read."""
        try:
            return self.evaluate(properties) is True
        except EvaluateError:
            return False


def compile_sql(text: str) -> SqlExpression:
    """Raises FilterError when the text is no test, or too long or too deep."""
    if len(text) > MAX_LENGTH:
        raise FilterError(f"SQL92: the expression has {len(text)} characters, more than {MAX_LENGTH}")
    try:  # lark takes longer to load than a broker with tags alone should wait
        from sprocketmq.filter.sql_parse import parse
    except ModuleNotFoundError:
        raise FilterError(extras.hint("an SQL92 expression", "lark", "broker")) from None

    return SqlExpression(text, parse(text).test)


def ignored_by_sql(text: str) -> str:
    """What a broker takes without a word at the end of `text` and does not look at; nothing where nobody can say."""
    try:
        from sprocketmq.filter.sql_parse import parse, rest_of
    except ModuleNotFoundError:
        return ""
    try:
        parse(text)
    except FilterError:
        return ""  # the broker will say so
    return rest_of(text)
