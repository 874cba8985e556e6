"""Store directories written by Apache RocketMQ 5.3.3, with what it finds in them, unpacked for a test."""

from __future__ import annotations

import hashlib
import json
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data" / "stores"
NAMES = ("clean", "killed", "torn", "features", "direct")


@dataclass(frozen=True)
class GoldenStore:
    name: str
    root: Path
    expect: dict[str, Any]


def unpack(name: str, folder: Path) -> GoldenStore:
    with tarfile.open(DATA / f"{name}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return GoldenStore(name, folder / "root", json.loads((folder / "expect.json").read_bytes()))


def fingerprint(root: Path) -> dict[str, tuple[str, int]]:
    """Every name below `root`, with a hash of its bytes and its modification time."""
    return {
        str(path.relative_to(root)): (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
            path.stat().st_mtime_ns,
        )
        for path in sorted(root.rglob("*"))
    }
