"""The declared headers against the table of RocketMQ's own header classes."""

from __future__ import annotations

import importlib
import json
import pkgutil
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from tests.unit.protocol.headers.registry import HEADERS

from sprocketmq.protocol import headers
from sprocketmq.protocol.enums import BoundaryType
from sprocketmq.protocol.fields import INT, LONG, bits_of, not_none

TABLE = json.loads((Path(__file__).parents[3] / "data" / "codes.json").read_text())
TYPES: dict[str, Any] = {"String": str, "Boolean": bool, "boolean": bool, "BoundaryType": BoundaryType}
TYPES |= {"Integer": INT, "int": INT, "Long": LONG, "long": LONG}
PRIMITIVE = {"int", "long", "boolean"}


def declared() -> dict[str, type]:
    modules = [importlib.import_module(f"{headers.__name__}.{m.name}") for m in pkgutil.iter_modules(headers.__path__)]
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, type) and is_dataclass(value) and value.__module__ == module.__name__
    }


DECLARED = declared()


def test_only_headers_of_the_table_are_declared() -> None:
    """Not all of them: the fields of a pull are `requests.pull`'s, and a header that nothing reads is left out."""
    assert set(DECLARED) - set(TABLE["headers"]) == set()


@pytest.mark.parametrize("name", sorted(DECLARED))
def test_fields_agree_with_the_table(name: str) -> None:
    cls: Any = DECLARED[name]
    hints = get_type_hints(cls, include_extras=True)
    ours = {
        f.metadata["key"]: (bits_of(not_none(hints[f.name])) or not_none(hints[f.name]), f.default is MISSING)
        for f in fields(cls)
    }
    assert ours == {row["name"]: (TYPES[row["type"]], row["required"]) for row in TABLE["headers"][name]}


@pytest.mark.parametrize("name", sorted(DECLARED))
def test_what_java_cannot_leave_null_has_a_value_here(name: str) -> None:
    primitive = {row["name"] for row in TABLE["headers"][name] if row["type"] in PRIMITIVE}
    cls: Any = DECLARED[name]
    assert not [f.name for f in fields(cls) if f.metadata["key"] in primitive and f.default is None]


def test_codes_map_to_the_headers_of_the_table() -> None:
    named = {
        row["code"]: tuple(
            name if name in DECLARED else None for name in (row["request_header"], row["response_header"])
        )
        for row in TABLE["request_info"].values()
    }
    ours = {code: tuple(cls and cls.__name__ for cls in pair) for code, pair in HEADERS.items()}
    assert ours == {code: pair for code, pair in named.items() if any(pair)}
