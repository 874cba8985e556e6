"""The golden data: bytes that Apache RocketMQ 5.3.3 wrote, and what its own classes read in them."""

from __future__ import annotations

import functools
import json
import zipfile
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).resolve().parents[2] / "data" / "golden"


@functools.cache
def pack(name: str) -> dict[str, bytes]:
    with zipfile.ZipFile(GOLDEN / f"{name}.zip") as archive:
        return {entry: archive.read(entry) for entry in archive.namelist()}


def cases(name: str) -> list[dict[str, Any]]:
    """The entries of the pack's index; each names its file."""
    entries: list[dict[str, Any]] = json.loads(pack(name)["index.json"])
    return entries


def content(name: str, entry: dict[str, Any]) -> bytes:
    return pack(name)[entry["file"]]


@functools.cache
def hashes() -> dict[str, Any]:
    values: dict[str, Any] = json.loads((GOLDEN / "hashes.json").read_text())
    return values
