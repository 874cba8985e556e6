"""JSON bodies: frozen dataclasses of `wire` fields, and one encoder and decoder for all of them.

A declaration's types say how a field travels:

    str  int  Long  float  bool  Enum(by name)  bytes(base64)        a nested body
    tuple[T, ...]   frozenset[T]   Mapping[K, V] with K of str, int, Long or MessageQueue       T | None

Written as Java writes: members in alphabetical order, None left out, everything else present. A text whose default
is empty is left out when it is empty: it stands for Java's null where None would only be in the way.
Read as Java reads: any order, unknown keys ignored, null and absent give the default, map keys quoted or bare, and an
integer may come as a decimal string (the Go client sends tag codes so), an enum as its place in the list (the C++
client does). A wrong type is a BodyError that names its place: `HeartbeatData: consumerDataSet[0].groupName must be a
text, not 5`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from operator import attrgetter
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

import orjson

from sprocketmq.errors import BodyError
from sprocketmq.protocol import java_json
from sprocketmq.protocol.bodies import values
from sprocketmq.protocol.bodies.values import Mismatch
from sprocketmq.protocol.fields import bits_of, not_none

B = TypeVar("B")
Convert = Callable[[Any], Any]


def encode(body: object) -> bytes:
    return _dumps(to_tree(body), type(body))


def _dumps(tree: Any, cls: type) -> bytes:
    if not _holds(cast(Any, cls), float):  # save for doubles and bare keys, plain JSON is the same and far quicker
        with suppress(TypeError):
            return orjson.dumps(tree)
    return java_json.dumps(tree)


def encode_standard(body: object) -> bytes:
    """As JSON that every reader takes: integer keys quoted, maps sorted, everything beyond ASCII escaped."""
    return java_json.dumps(to_tree(body), int_keys="quoted", ascii=True, sort_keys=True)


def encode_pretty(body: object) -> bytes:
    """As RocketMQ lays out its configuration files."""
    return java_json.dumps_pretty(to_tree(body))


def decode(cls: type[B], data: bytes | str, limit: int = java_json.MAX_BYTES) -> B:
    return from_tree(cls, java_json.loads(data, limit))


class Items:
    """An array of a body that is not read yet; each item is when it is its turn, and BodyError names a wrong one."""

    def __init__(self, name: str, trees: list[Any], read: Convert) -> None:
        self._name, self._trees, self._read = name, trees, read

    def __len__(self) -> int:
        return len(self._trees)

    def __iter__(self) -> Iterator[Any]:
        for number, tree in enumerate(self._trees):
            try:
                item = self._read(tree)
            except Mismatch as wrong:
                raise BodyError(f"{self._name}{wrong.under(f'[{number}]')}") from None
            yield item


def decode_apart(cls: type[B], data: bytes, *members: str) -> tuple[B, list[Items]]:
    """The body without these members of it, arrays that may be large, and each of these by itself."""
    tree = java_json.loads(data)
    apart = [_take_apart(cls, tree, member) for member in members]
    return from_tree(cls, tree), apart


def _take_apart(cls: Any, tree: Any, member: str) -> Items:
    key, codec = _array(cls, member)
    trees: list[Any] = []
    if type(tree) is dict and type(tree.get(key)) is list:  # anything else the reader of the body refuses
        trees = tree.pop(key)
    return Items(f"{cls.__name__}: {key}", trees, codec.read)


def encode_in_steps(body: object, member: str, part: Any, depth: int = 1) -> Generator[None, None, bytes]:
    """The body, with an array or a map of what `to_tree` gave in the place of a member that it leaves empty. It yields
    after each value that lies `depth` levels inside, for others to have their turns.
    """
    tree, cls = to_tree(body), cast(Any, type(body))
    if part:
        tree = dict(sorted({**tree, _key_of(cls, member): part}.items()))
    return (yield from _dump_in_steps(tree, cls, 1 + depth))


def _dump_in_steps(tree: Any, cls: type, depth: int) -> Generator[None, None, bytes]:
    texts: list[bytes] = []
    if depth and type(tree) is dict:
        for key, value in tree.items():
            text = yield from _dump_in_steps(value, cls, depth - 1)
            texts.append(java_json.dumps({key: 0})[1:-2] + text)
        return b"{" + b",".join(texts) + b"}"
    if depth and type(tree) is list:
        for value in tree:
            text = yield from _dump_in_steps(value, cls, depth - 1)
            texts.append(text)
        return b"[" + b",".join(texts) + b"]"
    yield
    return _dumps(tree, cls)


def to_tree(body: object) -> dict[str, Any]:
    """The plain dicts and lists that stand for `body` in JSON."""
    cls: Any = type(body)
    return cast(dict[str, Any], _codec(cls).write(body))


def from_tree(cls: type[B], tree: Any) -> B:
    """The body of class `cls` in parsed JSON."""
    try:
        return cast(B, _codec(cast(Any, cls)).read(tree))
    except Mismatch as wrong:
        raise BodyError(f"{cls.__name__}: {wrong}") from None


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class _Codec:
    """How values of one type are read from and written to parsed JSON."""

    read: Convert
    write: Convert = _same


@functools.cache
def _codec(hint: Any) -> _Codec:
    if (bits := bits_of(hint)) is not None:
        return _Codec(values.integer_reader(bits))
    if hint in values.READERS:
        return _Codec(values.READERS[hint])
    if is_dataclass(hint):
        return _bean(cast(type, hint))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _Codec(values.enum_reader(hint), lambda member: member.name)
    return _collection(get_origin(hint), get_args(hint))


def _collection(origin: Any, arguments: tuple[Any, ...]) -> _Codec:
    if origin is Mapping:
        return _mapping(*arguments)
    item = _codec(arguments[0])
    if origin is frozenset:
        order = _order(arguments[0])
        return _Codec(
            values.array_reader(item.read, frozenset), lambda items: [item.write(i) for i in sorted(items, key=order)]
        )
    if origin is tuple:
        return _Codec(values.array_reader(item.read, tuple), lambda items: [item.write(i) for i in items])
    raise TypeError(f"{origin} has no JSON form")


def _order(hint: Any) -> Convert | None:
    """By what such items are sorted: the same as by themselves, but a dataclass compares its members slowly."""
    return attrgetter(*(f.name for f in fields(hint))) if is_dataclass(hint) else None


@functools.cache
def _array(cls: Any, member: str) -> tuple[str, _Codec]:
    """The key of a member that is an array, and how its items travel."""
    return _key_of(cls, member), _codec(get_args(get_type_hints(cls, include_extras=True)[member])[0])


@functools.cache
def _key_of(cls: Any, member: str) -> str:
    return str(next(f.metadata["key"] for f in fields(cls) if f.name == member))


def _mapping(key_hint: Any, value_hint: Any) -> _Codec:
    value = _codec(value_hint)
    if not is_dataclass(key_hint):
        read_key = values.key_reader(key_hint)
        return _Codec(
            values.mapping_reader(read_key, value.read),
            lambda members: {k: value.write(v) for k, v in members.items()},
        )
    key = _codec(cast(Any, key_hint))
    return _Codec(
        values.mapping_reader(lambda k: key.read(values.object_key(k)), value.read),
        lambda members: {java_json.ObjectKey(key.write(k).items()): value.write(v) for k, v in members.items()},
    )


def _bean(cls: type) -> _Codec:
    hints = get_type_hints(cls, include_extras=True)
    members = [
        (f.metadata["key"], f.name, _codec(not_none(hints[f.name])), f.metadata["omit_empty"])
        for f in sorted(fields(cls), key=lambda f: f.metadata["key"])
    ]
    readers = [(key, name, codec.read) for key, name, codec, _ in members]
    writers = [(key, name, codec.write, omit_empty) for key, name, codec, omit_empty in members]

    def write(body: Any) -> dict[str, Any]:
        tree = {}
        for key, name, write_member, omit_empty in writers:
            value = getattr(body, name)
            if value is not None and (value or not omit_empty):
                tree[key] = value if write_member is _same else write_member(value)
        return tree

    return _Codec(values.bean_reader(cls, readers), write)


@functools.cache
def _holds(hint: Any, wanted: type) -> bool:
    """Whether a value of type `hint` may hold one of type `wanted`, at any depth."""
    inside = get_type_hints(hint, include_extras=True).values() if is_dataclass(hint) else get_args(hint)
    return hint is wanted or any(_holds(each, wanted) for each in inside)
