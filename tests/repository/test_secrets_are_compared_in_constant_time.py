"""`==` on a signature tells by its time how much of a guess was right: `hmac.compare_digest` does not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src" / "sprocketmq"
_SECRET = re.compile(r"(?i)signature|digest|hmac|passw(or)?d|secret(?!_?(key)?_?(file|name))")


def names(node: ast.expr) -> Iterator[str]:
    """What an operand is called: `a.signature`, `sign(...)`, `fields["Signature"]`."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.Call):
        yield from names(node.func)
    elif isinstance(node, ast.Subscript):
        yield from (str(each.value) for each in ast.walk(node.slice) if isinstance(each, ast.Constant))


def is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id.isupper())


def comparisons(source: str) -> list[int]:
    """The lines where a secret is compared by == or !=, but to a constant: that one is no secret."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare) and any(isinstance(op, (ast.Eq, ast.NotEq)) for op in node.ops):
            sides = [node.left, *node.comparators]
            is_secret = any(_SECRET.search(name) for side in sides for name in names(side))
            if is_secret and not any(map(is_constant, sides)):
                found.append(node.lineno)
    return found


def test_no_secret_is_compared_by_its_letters() -> None:
    found = {str(path.relative_to(SOURCES)): comparisons(path.read_text()) for path in SOURCES.rglob("*.py")}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("source", "is_found"),
    [
        ("given == signature", True),
        ("a.signature != sign(b)", True),
        ('fields["Signature"] == wanted', True),
        ("user.password == given", True),
        ('password == ""', False),
        ("hmac.compare_digest(given, signature)", False),
        ("name == other", False),
        ("key != SIGNATURE", False),
    ],
)
def test_the_rule_itself(source: str, is_found: bool) -> None:
    assert bool(comparisons(source)) == is_found
