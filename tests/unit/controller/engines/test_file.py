from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.controller.support import three

from sprocketmq.atomic_file import LocalFiles
from sprocketmq.controller.engines import EngineFailed, Member
from sprocketmq.controller.engines.file import FileEngine
from sprocketmq.errors import SprocketError

OWN = Member("n0", "127.0.0.1:9878")


async def test_it_leads_at_once(tmp_path: Path) -> None:
    contest = FileEngine(tmp_path / "state.json").lead(OWN)
    assert await anext(contest) == OWN


async def test_what_was_swapped_is_there_after_a_restart(tmp_path: Path) -> None:
    engine = FileEngine(tmp_path / "new" / "state.json")
    assert await engine.load() == {}
    record = three()
    await engine.swap(None, record)
    again = FileEngine(tmp_path / "new" / "state.json")
    assert await again.load() == {"ha-a": record}
    await again.swap(record, record.with_master(2))
    await again.swap(record.with_master(2), None)
    assert await FileEngine(tmp_path / "new" / "state.json").load() == {}


async def test_it_swaps_only_what_was_expected(tmp_path: Path) -> None:
    engine = FileEngine(tmp_path / "state.json")
    record = three()
    await engine.swap(None, record)
    with pytest.raises(EngineFailed, match="another one"):
        await engine.swap(None, record.with_master(2))
    assert await engine.load() == {"ha-a": record}


async def test_a_full_disk_changes_nothing(tmp_path: Path) -> None:
    class FullDisk(LocalFiles):
        def write_bytes(self, path: Path, data: bytes, *, sync: bool = True) -> None:
            raise OSError(28, "No space left on device")

    record = three()
    await FileEngine(tmp_path / "state.json").swap(None, record)
    engine = FileEngine(tmp_path / "state.json", FullDisk())
    await engine.load()
    with pytest.raises(EngineFailed, match="No space left"):
        await engine.swap(record, record.with_master(2))
    assert await engine.load() == {"ha-a": record}


async def test_a_second_controller_is_kept_away(tmp_path: Path) -> None:
    first, second = FileEngine(tmp_path / "state.json"), FileEngine(tmp_path / "state.json")
    await first.start()
    with pytest.raises(SprocketError, match="another controller uses it"):
        await second.start()
    await first.stop()
    await second.start()
    await second.stop()


async def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text('{"sets":[{"brokerName":5}]}')
    with pytest.raises(SprocketError, match=r"state\.json: .*brokerName"):
        await FileEngine(tmp_path / "state.json").load()
