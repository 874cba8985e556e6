"""The header fields of recorded requests, through their declarations and back."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.unit.protocol.headers.registry import HEADERS

from sprocketmq.protocol.header import from_ext_fields, to_ext_fields

FRAMES = Path(__file__).parents[3] / "data" / "golden" / "frames.zip"
EDGES = ("empty-ext-value", "null-ext-value", "many-ext", "long-ext")  # about frames: their fields are no header
BESIDE = {"_UNIQUE_KEY_QUERY", "ReqT"}  # travel next to the header


def requests() -> list[dict[str, Any]]:
    with zipfile.ZipFile(FRAMES) as archive:
        index = json.loads(archive.read("index.json"))
    return [
        frame
        for frame in index
        if not frame["isResponse"] and frame["extFields"] and not frame["file"].startswith(EDGES)
        if HEADERS.get(frame["code"], (None, None))[0] is not None
    ]


REQUESTS = requests()


@pytest.mark.parametrize("frame", REQUESTS, ids=[frame["file"] for frame in REQUESTS])
def test_a_recorded_header_is_written_back(frame: dict[str, Any]) -> None:
    cls: Any = HEADERS[frame["code"]][0]
    expected = {key: text for key, text in frame["extFields"].items() if text is not None and key not in BESIDE}
    assert to_ext_fields(from_ext_fields(cls, frame["extFields"])) == expected
