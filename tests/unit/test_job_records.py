"""Records of jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from sprocketmq import job_records


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(job_records.ENVIRONMENT, str(tmp_path))
    return tmp_path


def test_a_run_is_written_down_however_it_ends() -> None:
    with job_records.recorded("report", "/made", "host:1"):
        pass
    with pytest.raises(KeyboardInterrupt), job_records.recorded("archive", "/kept", "host:1"):
        raise KeyboardInterrupt
    found = {run.kind: run for run in job_records.last()}
    assert found["report"].ok
    assert (found["archive"].ok, found["archive"].error) == (False, "KeyboardInterrupt")
    assert found["report"].report is None, "no page was made"


def test_only_the_last_ones_are_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_records, "_KEPT", 3)
    for number in range(5):
        with job_records.recorded("archive", str(number), ""):
            pass
    assert len(job_records.last()) == len(list(folder.glob("*.json"))) == 3


def test_a_folder_that_cannot_be_written_stops_no_job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(job_records.ENVIRONMENT, str(tmp_path / "file" / "runs"))
    with job_records.recorded("archive", "/kept", ""):
        pass
    assert job_records.last() == []


def test_the_folder_is_the_users_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(job_records.ENVIRONMENT)
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert job_records.folder() == Path("/state/sprocketmq/runs")
