"""Marked secrets go in wherever a secret can; then everything that is printed, logged, answered or visible is searched.

Files that must hold a secret are readable by their owner alone, and are the only place where one is found.
"""

from __future__ import annotations

import json
import stat
import subprocess
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.certificates import LOOPBACK, Certificates
from tests.e2e.cli.commands import HANG, argv, environment
from tests.peers.process import Process, free_port
from tests.peers.servers import write_properties

from sprocketmq.certificates import make_client, make_server

#: Every secret holds this word.
MARK = "zq7marked"
SECRETS = {
    name: f"{MARK}-{name}-secret"
    for name in ("server-key", "client-key", "root", "inner", "wrong", "token", "url", "profile", "unknown-key")
}


@dataclass
class Run:
    """Two servers as a user starts them, and all that anybody got to see."""

    folder: Path
    nameserver: str
    tls: list[str]
    processes: list[Process] = field(default_factory=list)
    seen: dict[str, bytes] = field(default_factory=dict)

    def command(self, *words: object, **more: str) -> subprocess.CompletedProcess[bytes]:
        done = subprocess.run(
            argv(*words), capture_output=True, env=environment(self.nameserver, **more), timeout=HANG, check=False
        )
        self.seen[f"sprocket {' '.join(map(str, words[:3]))} #{len(self.seen)}"] = done.stdout + done.stderr
        return done


@pytest.fixture(scope="module")
def files(certificates: Certificates, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A tls.properties whose two keys are encrypted."""
    folder = tmp_path_factory.mktemp("keys")
    server = make_server(certificates.authority, LOOPBACK, days=1).write(folder, "server", SECRETS["server-key"])
    client = make_client(certificates.authority, "broker", days=1).write(folder, "client", SECRETS["client-key"])
    return {
        "tls.server.certPath": str(server.cert), "tls.server.keyPath": str(server.key),
        "tls.server.keyPassword": SECRETS["server-key"], "tls.server.trustCertPath": str(certificates.ca),
        "tls.client.certPath": str(client.cert), "tls.client.keyPath": str(client.key),
        "tls.client.keyPassword": SECRETS["client-key"],
    }  # fmt: skip


@pytest.fixture(scope="module")
def run(files: dict[str, str], certificates: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("secrets")
    nameserver_port, broker_port, metrics = free_port(), free_port(-2, 1), free_port()
    running = Run(folder, f"127.0.0.1:{nameserver_port}", ["--tls-ca", str(certificates.ca)])
    accounts = {
        "authenticationEnabled": "true", "authorizationEnabled": "true",
        "initAuthenticationUser": json.dumps({"username": "root", "password": SECRETS["root"]}),
        "innerClientAuthenticationCredentials": json.dumps({"accessKey": "inner", "secretKey": SECRETS["inner"]}),
        "logLevel": "DEBUG", "tls.enable": "true", "tls.server.mode": "permissive", **files,
    }  # fmt: skip
    places = {
        "bindAddress": "127.0.0.1", "brokerIP1": "127.0.0.1", "listenPort": str(broker_port), "brokerName": "broker-a",
        "haListenPort": str(broker_port + 1), "namesrvAddr": running.nameserver, "metricsExporterType": "PROM",
        "metricsPromExporterPort": str(metrics), "storePathRootDir": str(folder / "store"),
        "mappedFileSizeCommitLog": str(16 << 20), "someUnknownPassword": SECRETS["unknown-key"],
    }  # fmt: skip
    plain = {"bindAddress": "127.0.0.1", "listenPort": str(nameserver_port), "logLevel": "DEBUG",
             "metricsExporterType": "DISABLE", "tls.server.mode": "permissive", **files}  # fmt: skip
    first = write_properties(folder / "namesrv.conf", plain)
    second = write_properties(folder / "broker.conf", {**accounts, **places})
    try:
        for name, command in (
            ("nameserver", argv("nameserver", "-c", first, "--data", folder / "namesrv")),
            ("broker", argv("broker", "-c", second)),
        ):
            process = Process(command, folder / f"{name}.log", cwd=folder)
            running.processes.append(process)
            process.wait_until(lambda name=name: b" ready on " in (folder / f"{name}.log").read_bytes(), name)  # type: ignore[misc]
        _use_everything(running, metrics, certificates)
        yield running
    finally:
        for process in running.processes:
            process.stop()


def _use_everything(run: Run, metrics: int, certificates: Certificates) -> None:
    (run.folder / "root").write_text(SECRETS["root"])
    (run.folder / "wrong").write_text(SECRETS["wrong"])
    root = [*run.tls, "--access-key", "root", "--secret-key-file", str(run.folder / "root")]
    wrong = [*run.tls, "--access-key", "root", "--secret-key-file", str(run.folder / "wrong")]
    for words in (
        ("send", "orders", "hello", *root), ("broker", "config", "broker-a", *root),
        ("broker", "status", "broker-a", "--all", *root), ("mqadmin", "getNamesrvConfig", *root),
        ("send", "orders", "hello", *wrong), ("broker", "config", "broker-a", *wrong),
    ):  # fmt: skip
        run.command(*words)
    run.command("send", "orders", "hello", *run.tls, SPROCKET_ACCESS_KEY="root", SPROCKET_SECRET_KEY=SECRETS["wrong"],
                SPROCKET_TOKEN=SECRETS["token"])  # fmt: skip
    run.command("topic", "list", "-n", f"rocketmq://root:{SECRETS['url']}@127.0.0.1:1")
    run.command("topic", "list", "-n", f"rocketmq://root:{SECRETS['url']}@{run.nameserver}?speed=high")
    config = str(run.folder / "profiles.toml")
    run.command("profile", "set", "one", f"secret_key={SECRETS['profile']}", "access_key=x", SPROCKET_CONFIG=config)
    run.command("profile", "show", "one", SPROCKET_CONFIG=config)
    for broken in (
        f"initAuthenticationUser={{{SECRETS['root']}", f"innerClientAuthenticationCredentials={SECRETS['inner']}",
        f"tls.server.keyPassword={SECRETS['wrong']}",
    ):  # fmt: skip
        settings = dict(line.split("=", 1) for line in (run.folder / "broker.conf").read_text().splitlines())
        key, _, value = broken.partition("=")
        bad = write_properties(run.folder / "bad.conf", {**settings, key: value})
        assert run.command("broker", "-c", bad).returncode == 2
    with urllib.request.urlopen(f"http://127.0.0.1:{metrics}/metrics", timeout=60) as page:
        run.seen["metrics"] = page.read()
    for process in run.processes:
        run.seen[f"arguments of {process.pid}"] = Path(f"/proc/{process.pid}/cmdline").read_bytes()


def test_the_run_did_what_it_should(run: Run) -> None:
    """Else the search would find nothing for want of anything."""
    sent = [text for name, text in run.seen.items() if name.startswith("sprocket send")]
    assert any(b"offset id" in text for text in sent), sent
    assert any(b"keyPassword" in text and b"***" in text for text in run.seen.values())
    assert any(b"check signature failed" in text for text in run.seen.values())
    assert b"rocketmq" in run.seen["metrics"]


def test_nothing_that_was_printed_or_answered_holds_a_secret(run: Run) -> None:
    assert {
        name: text for name, text in run.seen.items() if MARK.encode() in text.replace(b"zq7markedPassword", b"")
    } == {}


def test_no_log_holds_a_secret(run: Run) -> None:
    logs = {path.name: path.read_text(errors="replace") for path in run.folder.rglob("*.log*")}
    assert len(logs) >= 2
    found = [
        line for text in logs.values() for line in text.splitlines() if MARK in line.replace(f"{MARK}Password", "")
    ]
    assert found == []


def test_files_with_secrets_are_for_their_owner_alone(run: Run) -> None:
    written_by_us = {run.folder / name for name in ("broker.conf", "bad.conf", "root", "wrong", "namesrv.conf")}
    holders = [
        path
        for path in run.folder.rglob("*")
        if path.is_file()
        and path not in written_by_us
        and path.stat().st_size < 1 << 20
        and MARK in path.read_text(errors="replace")
    ]
    assert {path.name for path in holders} <= {"users.json", "users.json.bak", "profiles.toml"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in holders} == {0o600}
