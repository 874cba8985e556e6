"""A long list, page by page, searched by the server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

PER_PAGE = 25


@dataclass(frozen=True, slots=True)
class Page:
    items: Sequence[str]
    number: int
    pages: int
    found: int
    query: str
    kind: str = ""
    #: What the list is sorted by; by name unless it is told.
    by: str = ""

    @property
    def first(self) -> int:
        return (self.number - 1) * PER_PAGE + 1 if self.found else 0

    @property
    def last(self) -> int:
        return self.first + len(self.items) - 1 if self.found else 0

    def link(self, number: int) -> str:
        given = {"q": self.query, "kind": self.kind, "by": self.by, "page": str(number)}
        return "?" + urlencode({name: value for name, value in given.items() if value})

    def sorted_by(self, by: str) -> str:
        """The same search in another order, from its first page on."""
        return replace(self, by=by).link(1)


def page_of(names: Sequence[str], query: str, number: str, kind: str = "", by: str = "") -> Page:
    """Those that contain every word of `query`; a number that is no page of theirs is the nearest one."""
    words = query.lower().split()
    found = [name for name in names if all(word in name.lower() for word in words)] if words else names
    pages = max(1, -(-len(found) // PER_PAGE))
    at = min(max(int(number), 1), pages) if number.isdecimal() and len(number) < 10 else 1
    return Page(found[(at - 1) * PER_PAGE : at * PER_PAGE], at, pages, len(found), query, kind, by)
