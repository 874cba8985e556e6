from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

from sprocketmq.atomic_file import LocalFiles, replace_file


class Recorded(LocalFiles):
    """Notes what is done, and fails at a step."""

    def __init__(self, fails_at: str = "") -> None:
        super().__init__()
        self.done: list[str] = []
        self._fails_at = fails_at

    def _note(self, step: str) -> None:
        if step == self._fails_at:
            raise OSError(step)
        self.done.append(step)

    def write_bytes(self, path: Path, data: bytes, *, sync: bool = True) -> None:
        self._note(f"write {path.name} synced={sync}")
        super().write_bytes(path, data, sync=sync)

    def rename(self, source: Path, target: Path) -> None:
        self._note(f"rename {source.name} {target.name}")
        super().rename(source, target)

    def sync_dir(self, path: Path) -> None:
        self._note(f"sync {path.name}")
        super().sync_dir(path)


def test_the_content_is_safe_before_its_name_is(tmp_path: Path) -> None:
    files, path = Recorded(), tmp_path / "config" / "table.json"
    replace_file(path, b"one", files)
    replace_file(path, b"two", files, backup=path.with_name("table.json.bak"))
    write, rename = "write table.json.tmp synced=True", "rename table.json.tmp table.json"
    first = [f"sync {tmp_path.name}", write, rename, "sync config"]
    assert files.done == [*first, write, "rename table.json table.json.bak", rename, "sync config"]
    assert path.read_bytes() == b"two"
    assert path.with_name("table.json.bak").read_bytes() == b"one"


@pytest.mark.parametrize("step", ["write f.tmp synced=True", "rename f.tmp f"])
def test_a_failure_leaves_what_was_there(tmp_path: Path, step: str) -> None:
    (tmp_path / "f").write_bytes(b"old")
    with pytest.raises(OSError, match=step):
        replace_file(tmp_path / "f", b"new", Recorded(step))
    assert (tmp_path / "f").read_bytes() == b"old"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes")
def test_a_secret_is_its_owner_s(tmp_path: Path) -> None:
    replace_file(tmp_path / "f", b"secret", LocalFiles(0o600))
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o600
