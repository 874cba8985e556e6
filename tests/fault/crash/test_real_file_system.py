"""The power cut on a real file system, and the kill of a real process."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path
from subprocess import PIPE

import pytest
from tests.fault.crash.cycles import Cycles, Outcome, kill
from tests.fault.crash.loopfs import LoopFileSystem, why_not

CYCLES = 20
KILLS = 6


def assert_sound(outcome: Outcome) -> None:
    assert outcome.lost == []
    assert outcome.invented == []
    assert outcome.wrong == []
    assert outcome.acknowledged > outcome.cycles


needs_loop_devices = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


@needs_loop_devices
def test_the_power_comes_back_whoever_else_mounts(tmp_path: Path) -> None:
    """Others take what is mounted where they come from into namespaces of their own, and keep it."""
    begin = threading.Event()
    others: list[subprocess.Popen[bytes]] = []

    def begin_another() -> None:
        begin.wait()
        others.append(subprocess.Popen(["unshare", "--mount", "sh", "-c", "echo; exec sleep 600"], stdout=PIPE))
        assert others[0].stdout is not None
        others[0].stdout.readline()

    other = threading.Thread(target=begin_another)
    other.start()  # in the namespace that everybody is in
    with LoopFileSystem(tmp_path) as disk:
        begin.set()
        other.join()
        try:
            disk.cut_power()
            disk.power_on()
            (disk.mount_point / "written").write_text("again")
        finally:
            others[0].kill()
            others[0].communicate()


@needs_loop_devices
@pytest.mark.parametrize("mode", ["SYNC_FLUSH", "ASYNC_FLUSH"])
@pytest.mark.timeout(900)
def test_power_cuts(mode: str, tmp_path: Path) -> None:
    """Under SYNC_FLUSH nothing acknowledged is lost; under ASYNC_FLUSH nothing that an earlier start had found."""
    with LoopFileSystem(tmp_path) as disk:
        cycles = Cycles(disk.mount_point / "store", mode)
        for _ in range(CYCLES if mode == "SYNC_FLUSH" else CYCLES // 4):
            cycles.run(lambda _writer: disk.cut_power(), disk.power_on)
    assert_sound(cycles.outcome)


@pytest.mark.parametrize("mode", ["SYNC_FLUSH", "ASYNC_FLUSH"])
def test_kills(mode: str, tmp_path: Path) -> None:
    cycles = Cycles(tmp_path / "store", mode, by_power=False)
    for _ in range(KILLS):
        cycles.run(kill, lambda: None)
    assert_sound(cycles.outcome)
