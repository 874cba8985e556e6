from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from sprocketmq.metrics import probe


class _Server(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(503 if self.path == "/ready" else 200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    with HTTPServer(("127.0.0.1", 0), _Server) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_who_is_not_there_is_not_missed(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPROCKETMQ_PROBE_PORTS", f"1 {port}")
    assert probe.main([]) == 0
    assert probe.main(["/ready"]) == 1
    assert probe.statuses("/ready", [1, port]) == {port: 503}


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SPROCKETMQ_PROBE_PORTS", "1")
    assert probe.main([]) == 1
    assert capsys.readouterr().err == "no server answers\n"


def test_one_that_hangs_is_not_healthy_beside_one_that_answers(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the broker's process of `sprocket up --brokers 2` beside the nameserver's."""
    monkeypatch.setattr(probe, "_SECONDS", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        monkeypatch.setenv("SPROCKETMQ_PROBE_PORTS", f"{hanging.getsockname()[1]} {port}")
        assert probe.main([]) == 1
