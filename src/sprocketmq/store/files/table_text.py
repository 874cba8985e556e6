"""The text of a large table, of which only what changed is encoded again.

RocketMQ writes a whole file for each change; so do we, byte for byte, but a million entries take seconds to encode.
The entries are therefore kept as the texts of pieces, and a piece is encoded again when one of its entries changed.

    file  := head '{' piece (',' piece)* '}' end        the table is the last field of the file
    piece := up to PIECE entries, in the order in which they came

The table itself belongs to another thread: entries are looked up when they are encoded, never iterated over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

V = TypeVar("V")

PIECE = 256
_END = b"}\n}"


class _Piece:
    __slots__ = ("keys", "text")

    def __init__(self) -> None:
        self.keys: dict[str, None] = {}
        self.text: bytes | None = None


class TableText(Generic[V]):
    """`encode` gives the file with these entries alone; `find` the value of an entry, None when it is gone."""

    def __init__(self, encode: Callable[[dict[str, V]], bytes], find: Callable[[str], V | None]) -> None:
        self._encode = encode
        self._find = find
        self._begin = len(encode({})) - len(_END)
        self._pieces: list[_Piece] = []
        self._home: dict[str, _Piece] = {}

    def text(self, head: bytes, changed: Iterable[str]) -> bytes:
        """The file: `head` is what it would be with an empty table, `changed` names what may have changed."""
        for key in changed:
            self._touch(key)
        texts = [text for piece in self._pieces if (text := self._text_of(piece))]
        if not texts:
            return head
        return b"".join((head[: -len(_END)], b"\n", b",\n".join(texts), b"\n\t", _END))

    def _touch(self, key: str) -> None:
        piece = self._home.get(key)
        if piece is None:
            if self._find(key) is None:
                return
            piece = self._home[key] = self._roomy()
            piece.keys[key] = None
        elif self._find(key) is None:
            del self._home[key], piece.keys[key]
        piece.text = None

    def _roomy(self) -> _Piece:
        if not self._pieces or len(self._pieces[-1].keys) >= PIECE:
            self._pieces.append(_Piece())
        return self._pieces[-1]

    def _text_of(self, piece: _Piece) -> bytes:
        if piece.text is None:
            found = {key: value for key in piece.keys if (value := self._find(key)) is not None}
            piece.text = self._encode(found)[self._begin + 1 : -len(_END) - 2] if found else b""
        return piece.text
