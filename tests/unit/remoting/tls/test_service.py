"""Files that change while a server runs."""

from __future__ import annotations

import logging
import os
import shutil
import ssl
from pathlib import Path

import pytest
from tests.certificates import LOOPBACK, Certificates

from sprocketmq.certificates import make_authority, make_server
from sprocketmq.config import from_properties
from sprocketmq.errors import ConfigError
from sprocketmq.remoting import RemotingServer
from sprocketmq.remoting.tls import TlsConfig, TlsService
from sprocketmq.remoting.tls import service as module

from ..wire import until
from .conftest import Peer, Serve


@pytest.fixture
def keys(certificates: Certificates, tmp_path: Path) -> dict[str, str]:
    """A server's settings, with files of this test alone."""
    for file in (certificates.server.cert, certificates.server.key, certificates.ca):
        shutil.copy(file, tmp_path)
    return {
        "tls.server.certPath": str(tmp_path / "server.pem"),
        "tls.server.keyPath": str(tmp_path / "server.key"),
        "tls.server.trustCertPath": str(tmp_path / "ca.pem"),
        "tls.server.need.client.auth": "optional",
        "tls.enable": "true",
    }


async def shown_by(server: RemotingServer) -> str:
    """The issuer of the certificate that a server shows."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    peer = await Peer.connect(server.port, context)
    raw = peer._writer.get_extra_info("ssl_object").getpeercert(True)
    peer.close()
    return "New" if b"New" in raw else "Tests"


async def test_new_files_are_shown_and_old_connections_go_on(
    serve: Serve, certificates: Certificates, keys: dict[str, str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.01)
    server = await serve(keys)
    old = await Peer.connect(server.port, certificates.caller())
    assert await shown_by(server) == "Tests"
    new = make_server(make_authority("New", days=1), LOOPBACK, days=1)
    with caplog.at_level(logging.INFO):
        (tmp_path / "server.pem").write_bytes(new.pem())
        await until(lambda: "certificates not reloaded" in caplog.text)  # the key is not its key yet
        assert await shown_by(server) == "Tests"
        (tmp_path / "server.key").write_bytes(new.key_pem())
        await until(lambda: any("certificates reloaded" in each.message for each in caplog.records))
    assert await shown_by(server) == "New"
    assert await old.ask(b"still here") == b"still here"
    old.close()


async def test_new_authorities_count_from_the_next_connection_on(
    serve: Serve, certificates: Certificates, keys: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.01)
    server = await serve({**keys, "tls.server.need.client.auth": "require"})
    known = await Peer.connect(server.port, certificates.caller(certificates.client))
    assert await known.ask(b"x") == b"x"
    before = server._tls.context if server._tls else None
    shutil.copy(certificates.stranger_ca, tmp_path / "ca.pem")
    await until(lambda: server._tls is not None and server._tls.context is not before)
    for own, is_in in ((certificates.stranger, True), (certificates.client, False)):
        peer = await Peer.connect(server.port, certificates.caller(own))
        try:
            assert (await peer.ask(b"x") == b"x") == is_in
        except (ConnectionError, ssl.SSLError):
            assert not is_in
        peer.close()
    assert await known.ask(b"y") == b"y"
    known.close()


async def test_what_it_calls_with_is_kept_up_too(
    keys: dict[str, str], tmp_path: Path, certificates: Certificates
) -> None:
    tls = TlsService.of(from_properties(TlsConfig, keys))
    before = tls.calling()
    tls.start()
    assert tls.calling() is before
    os.utime(tmp_path / "ca.pem", (1, 1))
    tls.stop()
    tls.start()
    assert tls.calling() is not before
    tls.stop()


def test_plain_unless_it_is_asked_for() -> None:
    tls = TlsService.of(TlsConfig())
    assert (tls.server, tls.calling()) == (None, None)


def test_enforcing_needs_a_certificate() -> None:
    with pytest.raises(ConfigError, match=r"tls.server.mode=enforcing: needs tls.server.certPath"):
        TlsService.of(from_properties(TlsConfig, {"tls.server.mode": "enforcing"}))
