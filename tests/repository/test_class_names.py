"""A class name means one thing: who searches for it finds one place, or a synchronous twin."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src" / "sprocketmq"
#: `Connection` is also a body of RocketMQ's, under its name there.
TWICE = {"Connection"}


def test_no_public_class_name_is_given_twice() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in SOURCES.rglob("*.py"):
        if path.parent == SOURCES / "client" / "sync":
            continue  # the twins of the asynchronous classes
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(SOURCES)))
    assert {name: found for name, found in places.items() if len(found) > 1 and name not in TWICE} == {}
