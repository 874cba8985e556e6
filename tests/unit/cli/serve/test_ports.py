"""A port that is taken: which one, and what to do."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.processes import Sprocket


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (("up", "--dashboard-port", 0, "--data", "DATA", "--nameserver-port", "TAKEN"), "name others"),
        (("nameserver", "--host", "127.0.0.1", "--data", "DATA", "--port", "TAKEN"), "--port names another"),
        (("dashboard", "-n", "127.0.0.1:1", "--port", "TAKEN"), "--port names another"),
    ],
)
def test_a_port_that_is_taken_is_one_line(taken: int, tmp_path: Path, words: tuple[object, ...], advice: str) -> None:
    given: dict[object, object] = {"TAKEN": taken, "DATA": tmp_path}
    process = Sprocket(*(given.get(word, word) for word in words))
    assert process.process.wait(60) == 1
    assert process.process.stderr is not None
    said = [line for line in process.process.stderr.read().splitlines() if not line.startswith("time=")]
    assert len(said) == 1
    assert said[0].startswith(f"sprocket: 127.0.0.1:{taken} is taken: another program listens there")
    assert said[0].endswith(advice)
    process.end()
