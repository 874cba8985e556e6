from __future__ import annotations

from pathlib import Path

import pytest

from sprocketmq.config import from_properties
from sprocketmq.errors import ConfigError
from sprocketmq.remoting.tls import config
from sprocketmq.remoting.tls.config import ClientAuth, TlsConfig, TlsMode, tls_settings


def settings(entries: dict[str, str]) -> TlsConfig:
    return tls_settings(from_properties(TlsConfig, entries))


def test_the_file_wins_as_in_rocketmq(tmp_path: Path) -> None:
    file = tmp_path / "tls.properties"
    file.write_text(
        "tls.server.certPath=of-the-file\ntls.server.need.client.auth=require\ntls.test.mode.enable=false\n"
    )
    found = settings({"tls.config.file": str(file), "tls.server.certPath": "mine", "tls.server.keyPath": "key"})
    assert (found.tls_server_cert_path, found.tls_server_key_path) == ("of-the-file", "key")
    assert found.tls_server_need_client_auth is ClientAuth.require


def test_the_usual_file_need_not_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings({}).tls_server_mode is TlsMode.permissive
    usual = tmp_path / "usual"
    usual.write_text("tls.enable=true")
    monkeypatch.setattr(config, "DEFAULT_FILE", usual)
    assert settings({"tls.config.file": str(usual)}).tls_enable


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tls.server.need.client.auth=perhaps", "need.client.auth='perhaps': expected one of none, optional, require"),
        ("tls.server.certpath=x", "tls.server.certpath: no such key"),
        (None, "No such file"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, text: str | None, said: str) -> None:
    file = tmp_path / "tls.properties"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ConfigError, match=said) as caught:
        settings({"tls.config.file": str(file)})
    assert str(file) in str(caught.value)


def test_a_mode_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"tls.server.mode='on': expected one of disabled, permissive, enforcing"):
        settings({"tls.server.mode": "on"})
