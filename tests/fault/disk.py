"""A disk in memory that loses power, runs full and fails, for the store to live on.

It keeps the two promises of `Files` and not a bit more: bytes survive a power cut when their file was synced since they
were written, and a name survives when its folder was synced since it was made, moved or removed. Of everything else
`power_cut` keeps what its `choose` says: any subset of the unsynced pages (torn in sectors of 512 bytes), any
subset of the unsynced names. A sync that fails drops the pages it should have written, and the next one succeeds, as
Linux does it.
"""

from __future__ import annotations

import errno
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from sprocketmq.errors import StoreLocked

PAGE = 4096
SECTOR = 512
PIECE = 64 * PAGE
#: A sync that says so has not begun.
UNTRIED = (errno.EMFILE, errno.EINTR)
#: Asked for each thing that may or may not have reached the disk: a page, a sector, a name, a length.
Choose = Callable[[str], bool]
Buffer = bytes | bytearray | memoryview


class PowerCut(Exception):
    """The machine is off: nothing more happens on this disk."""


@dataclass(eq=False)
class Node:
    """A file's bytes: as processes see them, as the kernel believes they are on disk, and as they are."""

    live: bytearray
    clean: bytearray
    durable: bytearray
    durable_size: int = 0
    modified_ms: int = 0
    #: Pages that a write made dirty, whether or not it changed a byte.
    written: set[int] = field(default_factory=set)

    def write(self, at: int, data: Buffer) -> None:
        self.live[at : at + len(data)] = data
        self.written |= set(range(at // PAGE * PAGE, at + len(data), PAGE))

    def dirty(self) -> list[int]:
        return sorted({*self._changed(), *(at for at in self.written if at < len(self.live))})

    def _changed(self) -> Iterator[int]:
        """Pieces first: the timer wheel has ten thousand pages, and few of them change."""
        for piece in range(0, len(self.live), PIECE):
            if self.live[piece : piece + PIECE] != self.clean[piece : piece + PIECE]:
                for at in range(piece, min(piece + PIECE, len(self.live)), PAGE):
                    if self.live[at : at + PAGE] != self.clean[at : at + PAGE]:
                        yield at


@dataclass(frozen=True)
class NameChange:
    """`path` names `node` from now on, or nothing; a rename is two of them that happen together."""

    folder: Path
    changes: tuple[tuple[Path, Node | None], ...]


FOLDER = Node(bytearray(), bytearray(), bytearray())


@dataclass
class Faults:
    """Which call of which kind fails: `{("sync", 3): errno.EIO}` is the third sync. `calls` counts them all.

    `fail_at` is the number of a call among all of them, those that only read too; `on_failure` is told its kind.
    """

    errors: dict[tuple[str, int], int] = field(default_factory=dict)
    capacity: int | None = None
    cut_at: int | None = None
    calls: Counter[str] = field(default_factory=Counter)
    steps: int = 0
    fail_at: int | None = None
    fail_with: int = errno.EIO
    on_failure: Callable[[str], object] = lambda _kind: None
    entered: int = 0

    def enter(self, kind: str) -> None:
        """A call that asks the disk for something, and changes nothing on it."""
        self.entered += 1
        if self.entered == self.fail_at:
            self.on_failure(kind)
            raise OSError(self.fail_with, os.strerror(self.fail_with))

    def step(self, kind: str) -> None:
        self.enter(kind)
        self.steps += 1
        if self.cut_at is not None and self.steps >= self.cut_at:
            raise PowerCut(f"at step {self.steps}, {kind}")
        self.calls[kind] += 1
        code = self.errors.get((kind, self.calls[kind]))
        if code is not None:
            raise OSError(code, os.strerror(code))


class SimFile:
    """One open file of a SimDisk."""

    def __init__(self, disk: SimDisk, path: Path, node: Node) -> None:
        self.path, self.size = path, len(node.live)
        self._disk, self._node = disk, node

    def map(self, *, writable: bool = True) -> memoryview:
        self._disk.faults.enter("map")
        view = memoryview(self._node.live)
        return view if writable else view.toreadonly()

    def allocate(self, start: int, end: int) -> None:
        self._disk.faults.step("allocate")
        self._disk.use_blocks(self._node, start, end)

    def ready(self, start: int, end: int) -> None:
        assert not any(self._node.live[start:end]), "what is made ready must be zeros"

    def free(self, start: int, end: int) -> None:
        assert not any(self._node.live[start:end]), "what is freed must be zeros"

    def data_ranges(self, start: int, end: int) -> list[tuple[int, int]]:
        self._disk.faults.enter("data_ranges")
        return [
            (max(at, start), min(at + PAGE, end))
            for at in range(start - start % PAGE, end, PAGE)
            if any(self._node.live[at : at + PAGE])
        ]

    def read(self, at: int, size: int) -> bytes:
        self._disk.faults.enter("read")
        return bytes(self._node.live[at : at + size])

    def write(self, at: int, data: Buffer) -> None:
        self._disk.faults.step("write")
        self._disk.use_blocks(self._node, at, at + len(data))
        self._node.write(at, data)

    def sync(self) -> None:
        self._disk.sync_node(self._node)

    def close(self) -> None:
        pass


class SimLock:
    def __init__(self, disk: SimDisk, path: Path) -> None:
        if path in disk.locks:
            raise StoreLocked(f"{path.parent} belongs to a running broker: its lock file is held")
        self._disk, self._path = disk, path
        disk.locks.add(path)

    def release(self) -> None:
        self._disk.locks.discard(self._path)


class SimDisk:
    """`Files`, in memory. `faults` says what goes wrong; `power_cut` returns the disk as the next start finds it."""

    def __init__(self, root: Path = Path("/store")) -> None:
        self.root = root
        self.names: dict[Path, Node] = {root: FOLDER}
        self.durable_names: dict[Path, Node] = {root: FOLDER}
        self.pending: list[NameChange] = []
        self.locks: set[Path] = set()
        self.faults = Faults()
        self.now_ms = 1_700_000_000_000
        self._blocks: dict[Node, set[int]] = {}
        self._naming = threading.RLock()  # threads make and sync names while others look, and while a process is killed

    # -- Files

    def create(self, path: Path, size: int) -> SimFile:
        self.faults.step("create")
        self.make_dirs(path.parent)
        node = self.names.get(path)
        if node is None:
            node = Node(bytearray(size), bytearray(size), bytearray(size), modified_ms=self.now_ms)
            self._rename_all(path.parent, (path, node))
        elif len(node.live) != size:
            self._resize(path, node, size)
        return SimFile(self, path, self.names[path])

    def open(self, path: Path, *, writable: bool = True) -> SimFile:
        self.faults.enter("open")
        return SimFile(self, path, self._node(path))

    def read_bytes(self, path: Path) -> bytes:
        self.faults.enter("read_bytes")
        return bytes(self._node(path).live)

    def write_bytes(self, path: Path, data: bytes, *, sync: bool = True) -> None:
        file = self.create(path, len(data))
        file.write(0, data)
        if sync:
            file.sync()

    def rename(self, source: Path, target: Path) -> None:
        self.faults.step("rename")
        node = self._node(source)
        moved = [(path, inner) for path, inner in list(self.names.items()) if source in path.parents]
        changes = [(source, None), (target, node)]
        for path, inner in moved:
            changes += [(path, None), (target / path.relative_to(source), inner)]
        self._rename_all(target.parent, *changes)

    def remove(self, path: Path) -> None:
        self.faults.step("remove")
        if path in self.names:
            self._rename_all(path.parent, (path, None))

    def remove_tree(self, path: Path) -> None:
        inside = [name for name in list(self.names) if name == path or path in name.parents]
        for name in sorted(inside, reverse=True):
            with suppress(OSError):  # what cannot be removed stays, as on a real disk
                self.remove(name)

    def make_dirs(self, path: Path) -> None:
        self.faults.enter("make_dirs")
        for folder in [*reversed(path.parents), path]:
            if folder not in self.names and self.root in folder.parents:
                self._rename_all(folder.parent, (folder, FOLDER))

    def sync_dir(self, path: Path) -> None:
        self.faults.step("sync_dir")
        self._node(path)
        with self._naming:
            for change in [one for one in self.pending if one.folder == path]:
                self._apply(self.durable_names, change)
            self.pending = [one for one in self.pending if one.folder != path]

    def sync_all(self, path: Path) -> None:
        for node in [node for node in list(self.names.values()) if node is not FOLDER]:
            self.sync_node(node)
        for folder in [name for name, node in list(self.names.items()) if node is FOLDER]:
            self.sync_dir(folder)

    def list_dir(self, path: Path) -> list[str]:
        self.faults.enter("list_dir")
        return sorted(name.name for name in list(self.names) if name.parent == path)

    def exists(self, path: Path) -> bool:
        return path in self.names

    def is_dir(self, path: Path) -> bool:
        return self.names.get(path) is FOLDER

    def size(self, path: Path) -> int:
        return len(self._node(path).live)

    def modified_ms(self, path: Path) -> int:
        return self._node(path).modified_ms

    def disk_usage(self, path: Path) -> tuple[int, int]:
        self.faults.enter("disk_usage")
        total = self.faults.capacity or 1 << 40
        return sum(map(len, self._blocks.values())) * PAGE, total

    def lock(self, path: Path) -> SimLock:
        self.faults.enter("lock")
        return SimLock(self, path)

    # -- what a disk does

    def use_blocks(self, node: Node, start: int, end: int) -> None:
        """Blocks for [start, end); ENOSPC when the disk has no more."""
        blocks = self._blocks.setdefault(node, set())
        wanted = set(range(start // PAGE, -(-end // PAGE))) - blocks
        used = sum(map(len, self._blocks.values()))
        if self.faults.capacity is not None and (used + len(wanted)) * PAGE > self.faults.capacity:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        blocks |= wanted

    def sync_node(self, node: Node) -> None:
        dirty = node.dirty()
        assert all(self._has_block(node, at) for at in dirty), "a store into a hole: on a full disk it is a SIGBUS"
        try:
            self.faults.step("sync")
        except OSError as error:
            if error.errno not in UNTRIED:
                for at in dirty:  # the kernel forgets that they were never written
                    node.clean[at : at + PAGE] = node.live[at : at + PAGE]
                node.written.clear()
            raise
        node.written.clear()
        for at in dirty:
            node.durable[at : at + PAGE] = node.clean[at : at + PAGE] = node.live[at : at + PAGE]
        node.durable_size = len(node.live)

    def _has_block(self, node: Node, at: int) -> bool:
        return at // PAGE in self._blocks.get(node, ()) or any(node.clean[at : at + PAGE])

    def power_cut(self, choose: Choose) -> SimDisk:
        """The disk after the power came back: what was synced, and what `choose` lets through of the rest."""
        after = SimDisk(self.root)
        after.now_ms = self.now_ms
        with self._naming:
            names, pending = dict(self.durable_names), list(self.pending)
        for change in pending:
            if choose("name"):
                self._apply(names, change)
        copies: dict[int, Node] = {}
        for path, node in names.items():
            if any(parent not in names for parent in path.parents if self.root in parent.parents):
                continue  # its folder is gone
            copy = node if node is FOLDER else copies.setdefault(id(node), _survivor(node, choose))
            after.names[path] = after.durable_names[path] = copy
        return after

    def kill(self) -> SimDisk:
        """The process is gone and the kernel lives: the next one sees every byte, and none became safe by that."""
        after = SimDisk(self.root)
        after.now_ms, after.faults = self.now_ms, self.faults
        copies: dict[int, Node] = {id(FOLDER): FOLDER}
        with self._naming:
            for names, others in ((self.names, after.names), (self.durable_names, after.durable_names)):
                others |= {path: copies.setdefault(id(node), _twin(node)) for path, node in names.items()}
            for change in self.pending:
                renamed = [
                    (path, None if node is None else copies.setdefault(id(node), _twin(node)))
                    for path, node in change.changes
                ]
                after.pending.append(NameChange(change.folder, tuple(renamed)))
            kept = ((copies.get(id(node)), blocks) for node, blocks in self._blocks.items())
            after._blocks = {twin: set(blocks) for twin, blocks in kept if twin is not None}
        return after

    def copy(self) -> SimDisk:
        """The same disk once more, everything on it being safe; what happens to one does not happen to the other."""
        return self.power_cut(keep_everything)

    def damage(self, path: Path, at: int, data: bytes) -> None:
        """Change bytes behind everybody's back."""
        node = self._node(path)
        for content in (node.live, node.clean, node.durable):
            content[at : at + len(data)] = data

    def set_size(self, path: Path, size: int) -> None:
        """Cut a file short, or fill it up with zeros, behind everybody's back."""
        self._resize(path, self._node(path), size)
        self._node(path).durable_size = size

    def lose(self, path: Path) -> None:
        """A file or folder that is gone."""
        for names in (self.names, self.durable_names):
            for name in [name for name in names if name == path or path in name.parents]:
                del names[name]

    def _rename_all(self, folder: Path, *changes: tuple[Path, Node | None]) -> None:
        change = NameChange(folder, changes)
        with self._naming:
            self._apply(self.names, change)
            self.pending.append(change)

    @staticmethod
    def _apply(names: dict[Path, Node], change: NameChange) -> None:
        for path, node in change.changes:
            if node is None:
                names.pop(path, None)
            else:
                names[path] = node

    def _resize(self, path: Path, node: Node, size: int) -> None:
        """In place, as ftruncate: those who have the file open keep seeing it."""
        for content in (node.live, node.clean, node.durable):
            if size < len(content):
                del content[size:]
            else:
                content.extend(bytes(size - len(content)))
        node.durable_size = min(node.durable_size, size)

    def _node(self, path: Path) -> Node:
        if path not in self.names:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        return self.names[path]


def _twin(node: Node) -> Node:
    live, clean, durable = bytearray(node.live), bytearray(node.clean), bytearray(node.durable)
    return Node(live, clean, durable, node.durable_size, node.modified_ms, set(node.written))


def _survivor(node: Node, choose: Choose) -> Node:
    size = len(node.live) if node.durable_size == len(node.live) or choose("length") else node.durable_size
    content = bytearray(node.durable[:size])
    for at in node.dirty():
        if at < size and choose("page"):
            for sector in range(at, min(at + PAGE, size), SECTOR):
                if choose("sector"):
                    content[sector : sector + SECTOR] = node.live[sector : sector + SECTOR][: size - sector]
    return Node(content, bytearray(content), bytearray(content), size, node.modified_ms)


def keep_nothing(_what: str) -> bool:
    return False


def keep_everything(_what: str) -> bool:
    return True


def keep_some(random: Random, *, share: float = 0.5) -> Choose:
    """Each thing by chance; of a page that is kept mostly all sectors are."""
    return lambda what: random.random() < (0.95 if what == "sector" else share)
