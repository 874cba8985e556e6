"""Every declared header and body: any value comes back, and anything a peer sends gives a value or the one error."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from types import ModuleType
from typing import Any, get_args, get_origin, get_type_hints

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hypothesis_examples import examples

from sprocketmq.errors import BodyError, CommandError
from sprocketmq.protocol import bodies, headers, java_json
from sprocketmq.protocol.bodies import decode, encode, encode_standard, from_tree
from sprocketmq.protocol.fields import bits_of, not_none
from sprocketmq.protocol.header import from_ext_fields, to_ext_fields

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | FLOATS | TEXT
OBJECT_KEYS = st.dictionaries(TEXT, TEXT | st.integers(0, 99), max_size=3).map(
    lambda members: java_json.ObjectKey(members.items())
)
KEYS = TEXT | st.integers(-(2**31), 2**31 - 1) | OBJECT_KEYS


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4)


TREES: st.SearchStrategy[Any] = st.recursive(SCALARS, containers, max_leaves=20)


def declared(package: ModuleType) -> list[type]:
    modules = [importlib.import_module(f"{package.__name__}.{m.name}") for m in pkgutil.iter_modules(package.__path__)]
    return [
        value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, type) and is_dataclass(value) and value.__module__ == module.__name__ and name[0] != "_"
    ]


HEADERS, BODIES = declared(headers), declared(bodies)


@functools.cache
def instances(cls: Any) -> st.SearchStrategy[Any]:
    hints = get_type_hints(cls, include_extras=True)
    return st.builds(cls, **{f.name: of_type(hints[f.name]) for f in fields(cls)})


def of_type(hint: Any) -> st.SearchStrategy[Any]:
    if not_none(hint) is not hint:
        return st.none() | of_type(not_none(hint))
    if (bits := bits_of(hint)) is not None:
        return st.integers(*bits.bounds)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(hint)
    plain = {str: TEXT, bool: st.booleans(), float: FLOATS}
    if hint is bytes:
        return st.binary(max_size=8)
    if hint in plain:
        return plain[hint]
    return collection(hint) if get_origin(hint) else instances(hint)


def collection(hint: Any) -> st.SearchStrategy[Any]:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Mapping:
        return st.dictionaries(of_type(arguments[0]), of_type(arguments[1]), max_size=2)
    items = st.lists(of_type(arguments[0]), max_size=2)
    return items.map(frozenset if origin is frozenset else tuple)


def wire_keys(cls: Any) -> st.SearchStrategy[str]:
    return st.sampled_from([f.metadata["key"] for f in fields(cls)] or ["none"])


def present(tree: Any) -> Any:
    """`tree` without null members, which are not written."""
    if isinstance(tree, dict):
        return {key: present(value) for key, value in tree.items() if value is not None}
    return [present(item) for item in tree] if isinstance(tree, list) else tree


@given(TREES)
def test_the_dialect_comes_back(tree: Any) -> None:
    expected = present(tree)
    assert java_json.loads(java_json.dumps(expected)) == expected
    assert java_json.loads(java_json.dumps_pretty(expected)) == expected


@given(st.binary() | st.text(alphabet='{}[]":,0123456789.eE+-truefalsn\\u ').map(str.encode))
def test_any_bytes_are_json_or_refused(data: bytes) -> None:
    try:
        java_json.loads(data)
    except BodyError:
        return


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(BODIES).flatmap(instances))
def test_any_body_comes_back(body: Any) -> None:
    assert decode(type(body), encode(body)) == body
    assert decode(type(body), encode_standard(body)) == body


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(BODIES).flatmap(lambda cls: st.tuples(st.just(cls), st.dictionaries(wire_keys(cls), TREES))))
def test_any_json_is_a_body_or_refused(case: tuple[type[Any], dict[str, Any]]) -> None:
    cls, tree = case
    try:
        body = from_tree(cls, tree)
    except BodyError:
        return
    assert from_tree(cls, java_json.loads(encode(body))) == body


@settings(max_examples=examples(200), deadline=None)
@given(st.sampled_from(HEADERS).flatmap(instances))
def test_any_header_comes_back(header: Any) -> None:
    assert from_ext_fields(type(header), to_ext_fields(header)) == header


@settings(max_examples=examples(200), deadline=None)
@given(st.sampled_from(HEADERS).flatmap(lambda cls: st.tuples(st.just(cls), st.dictionaries(wire_keys(cls), TEXT))))
def test_any_ext_fields_are_a_header_or_refused(case: tuple[type[Any], dict[str, str]]) -> None:
    try:
        from_ext_fields(*case)
    except CommandError:
        return
