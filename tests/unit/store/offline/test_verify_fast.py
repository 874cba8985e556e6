"""What the quick part of a check passes over, and that it hides nothing from the rest."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.stores import unpack

from sprocketmq.protocol.record.record import Record
from sprocketmq.store.offline import verify as module
from sprocketmq.store.offline.verify import verify
from sprocketmq.store.offline.verify_findings import Finding
from sprocketmq.store.view import StoreView


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("clean", tmp_path_factory.mktemp("golden")).root


def test_only_unusual_records_are_looked_at(golden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of each queue and file, delayed messages, and some that came with them."""
    seen, check = [], module._check_record

    def counted(view: StoreView, record: Record, *checks: Any) -> Iterator[Finding]:
        seen.append(record)
        return check(view, record, *checks)

    monkeypatch.setattr(module, "_check_record", counted)
    assert list(verify(StoreView(golden))) == []
    assert 0 < len(seen) < 1018 / 10


def thorough(root: Path) -> list[Finding]:
    """Every record looked at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_pass_over", lambda _view, _agreement, at, _end: at)
        return list(verify(StoreView(root)))


@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_hidden(golden: Path, tmp_path: Path, seed: int) -> None:
    """Bytes are changed at random; the quick way and the thorough one tell the same."""
    chance = random.Random(seed)
    folders = [golden / name for name in ("commitlog", "consumequeue", "index")]
    files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    for number in range(4):
        root = tmp_path / str(number)
        shutil.copytree(golden, root)
        for path in chance.sample(files, 3):
            data = bytearray((root / path.relative_to(golden)).read_bytes())
            written = len(data.rstrip(b"\0")) or 1
            for _ in range(chance.randrange(1, 4)):
                at = chance.randrange(min(written + 40, len(data)))
                data[at] ^= 1 << chance.randrange(8)
            (root / path.relative_to(golden)).write_bytes(data)
        expected = thorough(root)
        assert list(verify(StoreView(root))) == expected
        shutil.rmtree(root)
