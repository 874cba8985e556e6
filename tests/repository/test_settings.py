"""A setting that a server offers does what its text says: the code reads it, or the text says that it has no effect."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from sprocketmq.store.config_meanings import MEANINGS

SOURCES = Path(__file__).parents[2] / "src" / "sprocketmq"
_DECLARED_BY = {"setting", "key"}


def settings() -> Iterator[tuple[str, str, str]]:
    """Attribute, key and text of each."""
    for path in SOURCES.rglob("config.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Call)):
                continue
            call = node.value
            if isinstance(call.func, ast.Name) and call.func.id in _DECLARED_BY and isinstance(node.target, ast.Name):
                texts = [each.value for each in call.args if isinstance(each, ast.Constant)]
                name = str(texts[0])
                yield node.target.id, name, MEANINGS.get(name) or str(texts[-1])


def test_every_setting_is_read_or_says_that_it_is_not() -> None:
    read = set(re.findall(r"\.(\w+)", "".join(path.read_text() for path in SOURCES.rglob("*.py"))))
    found = list(settings())
    assert len(found) > 200, "a pattern that finds nothing would find nothing wrong"
    assert [name for attribute, name, text in found if attribute not in read and "o effect" not in text] == []


def test_what_has_no_effect_is_not_read() -> None:
    read = set(re.findall(r"\.(\w+)", "".join(path.read_text() for path in SOURCES.rglob("*.py"))))
    assert [name for attribute, name, text in settings() if attribute in read and "o effect here" in text] == []
