"""What servers say when they start: keys that mean nothing, and a broker that nobody can find."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.e2e.processes import Sprocket


def errors_of(*arguments: object, names: tuple[str, ...]) -> str:
    """What a server has written to stderr when it was ready and then stopped."""
    sprocket = Sprocket(*arguments).ready(*names)
    code, errors = sprocket.end()
    assert code == 0
    return errors


@pytest.fixture(autouse=True)
def no_nameserver(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NAMESRV_ADDR", "SPROCKET_NAMESERVER"):
        if name in os.environ:
            monkeypatch.delenv(name)


def test_up_warns_of_keys_that_mean_nothing(tmp_path: Path) -> None:
    errors = errors_of(
        "up", "--data", tmp_path, "--nameserver-port", 0, "--port", 0, "--dashboard-port", 0,
        "--set", "flushDiskTyp=SYNC_FLUSH",
        "--set", "haListenPort=0", names=("broker-a",),
    )  # fmt: skip
    assert "key=flushDiskTyp did_you_mean=flushDiskType" in errors
    assert "haListenPort" not in errors


def test_a_broker_warns_of_keys_and_of_no_nameserver(tmp_path: Path) -> None:
    conf = tmp_path / "broker.conf"
    conf.write_text("listenPrt=1\nbrokerName=b\nbindAddress=127.0.0.1\nbrokerIP1=127.0.0.1\n")
    errors = errors_of(
        "broker", "-c", conf, "--port", 0, "--data", tmp_path / "b", "--set", "haListenPort=0", names=("b",)
    )
    assert "key=listenPrt did_you_mean=listenPort" in errors
    assert "no nameserver is configured" in errors
