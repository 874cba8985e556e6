"""The text of a large table, of which only what changed is encoded again.

RocketMQ writes a whole file for each change; so do we, byte for byte, but a million entries take seconds to encode.
The entries are therefore kept as the texts of pieces, and a piece is encoded again when one of its entries changed.

    file  := head '{' piece (',' piece)* '}' end        the table is the last field of the file
    piece := up to PIECE entries, in the order in which they came

The table itself belongs to another thread: entries are looked up when they are encoded, never iterated over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Generic, TypeVar

V = TypeVar("V")

PIECE = 64
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
        self._changes: list[Collection[str]] = []

    def note(self, changed: Collection[str]) -> None:
        """These may have changed, and nobody changes the collection any more. By the owner of the table: what is noted
        is in the next text that comes about, however many before it fail.
        """
        self._changes.append(changed)

    def text(self, head: bytes) -> bytes:
        """The file: `head` is what it would be with an empty table."""
        changes = self._changes.copy()
        for changed in changes:
            for key in changed:
                self._touch(key)
        del self._changes[: len(changes)]
        texts = [text for piece in self._pieces if (text := self._text_of(piece))]
        if not texts:
            return head
        return b"".join((head[: -len(_END)], b"\n", b",\n".join(texts), b"\n\t", _END))

    def _touch(self, key: str) -> None:
        """May be ended anywhere, and done again."""
        piece, is_gone = self._home.get(key), self._find(key) is None
        if piece is None:
            if is_gone:
                return
            piece = self._home[key] = self._roomy()
        piece.text = None
        if is_gone:
            piece.keys.pop(key, None)
            del self._home[key]
        else:
            piece.keys[key] = None

    def _roomy(self) -> _Piece:
        if not self._pieces or len(self._pieces[-1].keys) >= PIECE:
            self._pieces.append(_Piece())
        return self._pieces[-1]

    def _text_of(self, piece: _Piece) -> bytes:
        if piece.text is None:
            found = {key: value for key in piece.keys if (value := self._find(key)) is not None}
            piece.text = self._encode(found)[self._begin + 1 : -len(_END) - 2] if found else b""
        return piece.text
