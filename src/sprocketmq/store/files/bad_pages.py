# cython: annotation_typing=False
"""Pages of mapped files that could not be read, or written: what the owner of a map asks before it trusts its bytes.

`count` is 0 but for the moment between such a page and the question. `found` is filled by the signal's handler
(sigbus.py), which also gives the access a page of zeros to go on with.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import NamedTuple

from sprocketmq.errors import FlushFailed, StoreCorrupt

_log = logging.getLogger("sprocketmq.store.files")


class BadPage(NamedTuple):
    thread: int
    path: str
    offset: int
    put_back: Callable[[], None]


class BadPages:
    def __init__(self) -> None:
        self.count = 0
        self._found: list[BadPage] = []

    def add(self, path: str, offset: int, put_back: Callable[[], None]) -> None:
        """Called by the handler; `put_back` maps the file's page again, so that the next access asks the disk anew."""
        self._found.append(BadPage(threading.get_ident(), path, offset, put_back))
        self.count = len(self._found)

    def check(self) -> None:
        """After a read: StoreCorrupt when some of it was not there. What was read is worth nothing then."""
        if self.count > 0:
            page = self._take()
            if page is not None:
                raise StoreCorrupt(page.path, page.offset, "the disk cannot read this page")

    def check_write(self) -> None:
        """After a write: FlushFailed when some of it went nowhere, which is as final as a sync that failed."""
        if self.count > 0:
            page = self._take()
            if page is not None:
                raise FlushFailed(
                    f"{page.path} at {page.offset}: the disk has no page to write to; no more messages are taken"
                )

    def _take(self) -> BadPage | None:
        """The first page that this thread met since it asked last; all of them are put back and logged."""
        own = threading.get_ident()
        met = [page for page in self._found if page.thread == own]
        for page in met:
            self._found.remove(page)  # one by one: another thread may add to the list meanwhile
            page.put_back()
            _log.error("%s: the page at %d cannot be read or written", page.path, page.offset)
        self.count = len(self._found)
        return met[0] if met else None


#: A signal is the process's, not a store's.
BAD_PAGES = BadPages()
