from __future__ import annotations

import json
import ssl
import stat
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from sprocketmq.certificates import make_authority
from sprocketmq.cli.certs.command import certs
from sprocketmq.config import from_properties, read_entries, unknown_keys
from sprocketmq.errors import ConfigError
from sprocketmq.remoting.tls import TlsConfig, TlsService


def run(folder: Path, *words: str) -> Result:
    return CliRunner().invoke(certs, [*words, "--dir", str(folder)], catch_exceptions=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert run(tmp_path, "init").exit_code == 0
    return tmp_path


def test_an_authority_is_never_replaced(folder: Path) -> None:
    before = (folder / "ca.key").read_bytes()
    assert stat.S_IMODE((folder / "ca.key").stat().st_mode) == 0o600
    assert isinstance(run(folder, "init").exception, ConfigError)
    assert (folder / "ca.key").read_bytes() == before


def test_a_server_gets_settings_that_work_as_they_are(folder: Path) -> None:
    assert run(folder, "server", "broker-a", "10.0.0.1").exit_code == 0
    entries = read_entries(folder / "broker-a.properties")
    assert unknown_keys(entries, TlsConfig) == []
    tls = TlsService.of(from_properties(TlsConfig, {"tls.config.file": str(folder / "broker-a.properties")}))
    assert tls.server is not None


def test_a_client_has_its_name(folder: Path) -> None:
    assert run(folder, "client", "orders-service").exit_code == 0
    context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
    context.load_cert_chain(folder / "orders-service.pem", folder / "orders-service.key")
    rows = json.loads(run(folder, "show", "--json").stdout)
    assert [(row["name"], row["use"], row["issuer"]) for row in rows] == [
        ("SprocketMQ development", "authority", "SprocketMQ development"),
        ("orders-service", "client", "SprocketMQ development"),
    ]


def test_what_is_over_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_authority("Old", days=-1).write(folder, "old")
    shown = run(folder, "show", str(folder / "old.pem"))
    assert shown.exit_code == 1
    assert time.strftime("%Y") in shown.stdout


@pytest.mark.parametrize("name", ["../evil", "a/b", ".hidden", "ca", "white space"])
def test_a_name_becomes_no_path(folder: Path, name: str) -> None:
    assert isinstance(run(folder, "client", name).exception, (ConfigError, click.UsageError))
    assert sorted(path.name for path in folder.iterdir()) == ["ca.key", "ca.pem"]


def test_first_things_first(tmp_path: Path) -> None:
    failure = run(tmp_path, "server", "localhost").exception
    assert isinstance(failure, ConfigError)
    assert "sprocket certs init" in str(failure)


def test_a_file_that_is_no_certificate(folder: Path) -> None:
    failure = run(folder, "show", str(folder / "ca.key")).exception
    assert isinstance(failure, ConfigError)
    assert "no certificate in PEM" in str(failure)
