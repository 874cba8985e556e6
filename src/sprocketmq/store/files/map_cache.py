"""Which files are mapped right now: a bounded number, the ones used last.

A map costs a descriptor and an entry in the kernel's table, so 80,000 queues cannot all have one. A queue's cursor
keeps a pointer into its map; before such a map is dropped its holder is asked, which gives a busy one a second chance
and takes the pointer back from an idle one. Views that were handed out keep their memory for as long as they live.
"""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Protocol

from sprocketmq.store.files.files import Files
from sprocketmq.store.files.page_cache import read_singly


class Holder(Protocol):
    def release(self) -> bool:
        """Let go of the map; False when it was used since the last time this was asked."""
        ...


class MapCache:
    def __init__(self, files: Files, limit: int) -> None:
        self._files = files
        self._limit = limit
        self._maps: OrderedDict[Path, tuple[memoryview, Holder | None]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._maps)

    @property
    def room(self) -> int:
        """How many more it may map before it drops others."""
        return max(0, self._limit - len(self._maps))

    def get(self, path: Path, holder: Holder | None = None, *, ahead: bool = False) -> memoryview:
        """The file as memory, mapped when it is not; `holder` is asked before it is dropped.

        `ahead` lets the kernel read ahead in a file that is mapped now.
        """
        found = self._maps.get(path)
        if found is not None:
            self._maps.move_to_end(path)
            if holder is not None:
                self._maps[path] = (found[0], holder)
            return found[0]
        self._make_room()
        file = self._files.open(path)
        try:
            view = file.map() if ahead else read_singly(file.map())
        finally:
            file.close()
        self._maps[path] = (view, holder)
        return view

    def mapped(self, path: Path) -> memoryview | None:
        """The file as memory if it is mapped."""
        found = self._maps.get(path)
        return None if found is None else found[0]

    def drop(self, path: Path) -> None:
        """The file goes away, or its holder has no more use for it."""
        self._maps.pop(path, None)

    def clear(self) -> None:
        for _view, holder in self._maps.values():
            if holder is not None:
                holder.release()
        self._maps.clear()

    def _make_room(self) -> None:
        chances = len(self._maps)
        while len(self._maps) >= self._limit:
            path, (view, holder) = self._maps.popitem(last=False)
            if holder is None or holder.release():
                continue
            if chances > 0:
                chances -= 1
                self._maps[path] = (view, holder)
            else:
                holder.release()  # asked twice in a row it was not used in between
