"""The harness keeps its promises: nothing is left behind, and a missing tool is never a silent pass on CI."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.peers.cache import PROJECT, cached
from tests.peers.process import eventually
from tests.peers.toolchain import ToolMissing, needs_tools

_START_AND_HANG = """
import sys, time
from pathlib import Path
from tests.peers.process import Process
print(Process([sys.executable, "-c", "import time; time.sleep(600)"], Path(sys.argv[1])).pid, flush=True)
time.sleep(600)
"""


def test_children_end_with_a_killed_run(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _START_AND_HANG, str(tmp_path / "log")]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        child = Path("/proc", run.stdout.readline().strip())
        assert child.exists()
        run.kill()
    eventually(lambda: not child.exists() or "zombie" in (child / "status").read_text(), "the child's end")


def test_a_missing_tool_skips_here_and_fails_on_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no Java"), needs_tools():
        raise ToolMissing("no Java")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no Java"), needs_tools():
        raise ToolMissing("no Java")


def test_a_cache_entry_is_built_once_and_may_need_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPROCKETMQ_PEERS_CACHE", str(tmp_path))
    builds: list[str] = []

    def inner(directory: Path) -> None:
        builds.append("inner")

    def outer(directory: Path) -> None:
        builds.append("outer")
        cached("inner", inner)
        (directory / "made").touch()

    assert (cached("outer", outer) / "made").exists()
    assert cached("outer", outer) == tmp_path / "outer"
    assert builds == ["outer", "inner"]
