"""The facade for threads under Django: gunicorn loads the application once, forks workers, and each has threads."""

from __future__ import annotations

import sys
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.e2e.test_sync import read
from tests.peers.process import Process, free_port
from tests.peers.servers import Cluster

Unique = Callable[[str], str]
ROOT = Path(__file__).parents[2]
WORKERS = 2
REQUESTS = 24


def gunicorn(port: int, log: Path, environment: dict[str, str]) -> Process:
    options = [
        "--preload",
        "--workers",
        str(WORKERS),
        "--threads",
        "4",
        "--timeout",
        "300",
        "--bind",
        f"127.0.0.1:{port}",
    ]
    command = [sys.executable, "-m", "gunicorn", *options, "tests.e2e.web_app:app"]
    return Process(command, log, cwd=ROOT, environment=environment)


def test_a_preloaded_producer_serves_every_worker(sprocket_rocketmq: Cluster, unique: Unique, tmp_path: Path) -> None:
    topic, port = unique("topic"), free_port()
    environment = {"SPROCKET_NAMESERVER": sprocket_rocketmq.address, "WEB_TOPIC": topic, "WEB_GROUP": unique("pg")}
    server = gunicorn(port, tmp_path / "gunicorn.log", environment)

    def post(number: int) -> tuple[str, ...]:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", b"%d" % number, timeout=60) as answer:
            return tuple(answer.read().decode().split())

    try:
        server.wait_until(lambda: server.log.read_text().count("Booting worker") == WORKERS, "gunicorn")
        with ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(post, range(REQUESTS)))
        assert server.stop() == 0
    finally:
        if server.running:
            server.kill()
    expected = [b"from the master", *(b"%d" % i for i in range(REQUESTS))]
    expected += [b"%d submitted" % i for i in range(REQUESTS)]
    messages = read(sprocket_rocketmq, unique("group"), topic, len(expected))
    assert sorted(message.body for message in messages) == sorted(expected)
    assert {message.message_id for message in messages} >= {key for _, *keys in answers for key in keys}
    assert len({key for _, *keys in answers for key in keys}) == 2 * REQUESTS
