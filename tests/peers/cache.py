"""What is fetched or built once: class paths, compiled Java, the Go program.

Everything lives under `.cache/peers` of the project (or SPROCKETMQ_PEERS_CACHE), in entries named by a digest of what
they were made from.  An entry appears by a rename when it is whole, under a lock, so that two test runs can share it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]


def cache_directory() -> Path:
    chosen = os.environ.get("SPROCKETMQ_PEERS_CACHE")
    directory = Path(chosen) if chosen else PROJECT / ".cache" / "peers"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def digest(parts: Iterable[bytes | str | Path]) -> str:
    """A short name for these bytes, texts and the contents of these files."""
    total = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, Path) else part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "big") + data)
    return total.hexdigest()[:16]


def cached(name: str, build: Callable[[Path], None], valid: Callable[[Path], bool] = Path.exists) -> Path:
    """The entry `name`, made by `build(directory)` unless a valid one is there."""
    root = cache_directory()
    entry = root / name
    if valid(entry):
        return entry
    with (root / f"{name}.lock").open("w") as lock:  # of this entry: its build may ask for another
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not valid(entry):  # another process may have built it while we waited
            draft = root / f"{name}.draft"
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir()
            build(draft)
            shutil.rmtree(entry, ignore_errors=True)
            draft.rename(entry)
    return entry
