"""Three modes, and everyone who may knock: plain, TLS, a wrong authority, an old version, certificates of clients."""

from __future__ import annotations

import asyncio
import logging
import ssl
import warnings
from pathlib import Path

import pytest
from tests.certificates import CLIENT_NAME, LOOPBACK, Certificates

from sprocketmq.certificates import make_client, make_server
from sprocketmq.errors import ConnectFailed, ConnectionLost
from sprocketmq.metrics.limits import limit_figures
from sprocketmq.protocol.command import Command
from sprocketmq.remoting import Limits, RemotingClient, RemotingServer

from ..wire import BarePeer, until
from .conftest import Peer, Serve

MODES = ("disabled", "permissive", "enforcing")
PLAIN_IN = {"disabled", "permissive"}
TLS_IN = {"permissive", "enforcing"}
#: What ends a connection that is not let in, depending on who looks first.
ENDED = (ConnectionError, ssl.SSLError)


async def is_let_in(server: RemotingServer, context: ssl.SSLContext | None = None) -> bool:
    try:
        peer = await Peer.connect(server.port, context)
    except ENDED:
        return False
    try:
        return await peer.ask(b"x") == b"x"
    except ENDED:
        return False
    finally:
        peer.close()


def old_version(certificates: Certificates) -> ssl.SSLContext:
    context = certificates.caller()
    context.set_ciphers("DEFAULT:@SECLEVEL=0")  # the machine's own OpenSSL would not let us try
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    return context


def version(certificates: Certificates, only: ssl.TLSVersion) -> ssl.SSLContext:
    context = certificates.caller()
    context.minimum_version = context.maximum_version = only
    return context


@pytest.mark.parametrize("mode", MODES)
async def test_who_is_let_in(serve: Serve, certificates: Certificates, mode: str) -> None:
    server = await serve(certificates.server_keys(tls_server_mode=mode))
    assert await is_let_in(server) == (mode in PLAIN_IN)
    assert await is_let_in(server, version(certificates, ssl.TLSVersion.TLSv1_2)) == (mode in TLS_IN)
    assert await is_let_in(server, version(certificates, ssl.TLSVersion.TLSv1_3)) == (mode in TLS_IN)
    assert not await is_let_in(server, certificates.caller(ca=certificates.stranger_ca))
    assert not await is_let_in(server, old_version(certificates))
    assert await is_let_in(server) == (mode in PLAIN_IN), "a failed handshake is nobody else's"
    await until(lambda: len(server.connections) == 0)


@pytest.mark.parametrize("mode", TLS_IN)
@pytest.mark.parametrize(
    ("auth", "none", "right", "wrong"),
    [("none", True, True, True), ("optional", True, True, False), ("require", False, True, False)],
)
async def test_certificates_of_clients(
    serve: Serve, certificates: Certificates, mode: str, auth: str, none: bool, right: bool, wrong: bool
) -> None:
    keys = certificates.server_keys(
        tls_server_mode=mode, tls_server_need_client_auth=auth, tls_server_trustCertPath=str(certificates.ca)
    )
    server = await serve(keys)
    assert await is_let_in(server, certificates.caller()) == none
    assert await is_let_in(server, certificates.caller(certificates.client)) == right
    assert await is_let_in(server, certificates.caller(certificates.stranger)) == wrong
    assert await is_let_in(server) == (mode in PLAIN_IN)


async def test_the_certificate_is_a_name(serve: Serve, certificates: Certificates) -> None:
    keys = certificates.server_keys(
        tls_server_need_client_auth="optional", tls_server_trustCertPath=str(certificates.ca)
    )
    server = await serve(keys)
    found = []
    for context in (certificates.caller(certificates.client), certificates.caller(), None):
        peer = await Peer.connect(server.port, context)
        await peer.ask()
        (connection,) = server.connections
        over_tls = next(each for each in limit_figures(server.connections, {}, {}) if "encrypted" in each.name)
        assert [value for _name, _labels, value in over_tls.samples] == [int(context is not None)]
        found.append((connection.is_encrypted, connection.certificate_name))
        peer.close()
        await until(lambda: len(server.connections) == 0)
    assert found == [(True, CLIENT_NAME), (True, None), (False, None)]


async def test_a_name_counts_only_when_it_was_verified(serve: Serve, certificates: Certificates) -> None:
    server = await serve(certificates.server_keys())
    peer = await Peer.connect(server.port, certificates.caller(certificates.stranger))
    await peer.ask()
    (connection,) = server.connections
    assert connection.certificate_name is None
    peer.close()


@pytest.mark.parametrize(
    ("mode", "first", "reason"),
    [
        ("disabled", b"\x16\x03\x01\x02\x00\x01\x00\x01", "TLS, which is not spoken here"),
        ("enforcing", b"\x00\x00\x00\x20\x00\x00\x00\x10", "a plain frame where TLS is enforced"),
        ("permissive", b"\x16\x09\x09\x40\x02hm", "TLS handshake: "),
    ],
)
async def test_the_wrong_language_is_one_line_in_the_log(
    serve: Serve, certificates: Certificates, caplog: pytest.LogCaptureFixture, mode: str, first: bytes, reason: str
) -> None:
    server = await serve(certificates.server_keys(tls_server_mode=mode))
    peer = await Peer.connect(server.port)
    with caplog.at_level(logging.INFO):
        await peer.write(first)
        assert await peer.is_dropped()
        await until(lambda: len(server.connections) == 0)
    (line,) = caplog.records
    assert line.__dict__["fields"]["reason"].startswith(reason)
    assert server.connections.refused["handshakes"] == (mode != "disabled")
    peer.close()


async def test_without_files_permissive_speaks_no_tls(serve: Serve, certificates: Certificates) -> None:
    server = await serve({"tls.server.mode": "permissive"})
    assert await is_let_in(server)
    assert not await is_let_in(server, certificates.caller())


async def test_a_half_handshake_has_ten_seconds(serve: Serve, certificates: Certificates) -> None:
    server = await serve(certificates.server_keys())
    peer, idle = await BarePeer.connect(server.port), await BarePeer.connect(server.port)
    await peer.write_bytes(b"\x16")
    await until(lambda: any(each._handshake_since for each in server.connections))
    begun = max(each._handshake_since or 0.0 for each in server.connections)
    server.connections.scan(begun + 9)
    assert len(server.connections) == 2
    server.connections.scan(begun + 11)
    assert await peer.is_dropped()
    assert server.connections.refused["handshakes"] == 1
    await until(lambda: len(server.connections) == 1)  # who has said nothing yet may be plain
    peer.close()
    idle.close()


async def test_silence_is_a_half_handshake_where_tls_is_enforced(serve: Serve, certificates: Certificates) -> None:
    server = await serve(certificates.server_keys(tls_server_mode="enforcing"))
    peer = await BarePeer.connect(server.port)
    await until(lambda: len(server.connections) == 1)
    server.connections.scan(asyncio.get_running_loop().time() + 11)
    assert await peer.is_dropped()
    peer.close()


async def test_half_handshakes_count_as_connections(serve: Serve, certificates: Certificates) -> None:
    server = await serve(certificates.server_keys(), Limits(max_connections=2))
    halves = [await BarePeer.connect(server.port) for _ in range(2)]
    for half in halves:
        await half.write_bytes(b"\x16\x03")
    await until(lambda: len(server.connections) == 2)
    assert not await is_let_in(server, certificates.caller())
    assert server.connections.refused["connections"] == 1
    for half in halves:
        half.close()
    await until(lambda: len(server.connections) == 0)
    assert await is_let_in(server, certificates.caller())


async def test_our_client_says_why(serve: Serve, certificates: Certificates) -> None:
    keys = certificates.server_keys(
        tls_server_need_client_auth="require", tls_server_trustCertPath=str(certificates.ca)
    )
    server = await serve(keys)
    known = RemotingClient(ssl=certificates.caller(certificates.client))
    nobody = RemotingClient(ssl=certificates.caller())
    misled = RemotingClient(ssl=certificates.caller(ca=certificates.stranger_ca))
    assert (await known.call(server.address, Command(1, body=b"x"), 60)).body == b"x"
    with pytest.raises((ConnectionLost, ConnectFailed), match="certificate required"):
        await nobody.call(server.address, Command(1), 60)
    with pytest.raises(ConnectFailed, match="certificate verify failed"):
        await misled.call(server.address, Command(1), 60)
    for client in (known, nobody, misled):
        await client.close()


async def test_an_expired_certificate_of_a_server_is_refused_with_the_reason(
    serve: Serve, certificates: Certificates, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    old = make_server(certificates.authority, LOOPBACK, days=0).write(tmp_path, "old")
    server = await serve({"tls.server.certPath": str(old.cert), "tls.server.keyPath": str(old.key)})
    client = RemotingClient(ssl=certificates.caller())
    with caplog.at_level(logging.INFO):
        with pytest.raises(ConnectFailed, match="certificate verify failed: certificate has expired") as caught:
            await client.call(server.address, Command(1), 60)
        await until(lambda: server.connections.refused["handshakes"] == 1)
    assert caught.value.is_lasting, "it will not pass by itself"
    assert "\n" not in str(caught.value)
    (line,) = caplog.records
    assert line.__dict__["fields"]["reason"].endswith("alert certificate expired")
    await client.close()


@pytest.mark.parametrize("auth", ["optional", "require"])
async def test_and_so_is_a_clients(
    serve: Serve, certificates: Certificates, tmp_path: Path, caplog: pytest.LogCaptureFixture, auth: str
) -> None:
    old = make_client(certificates.authority, CLIENT_NAME, days=0).write(tmp_path, "old")
    keys = certificates.server_keys(tls_server_need_client_auth=auth, tls_server_trustCertPath=str(certificates.ca))
    server = await serve(keys)
    client = RemotingClient(ssl=certificates.caller(old))
    with caplog.at_level(logging.INFO):
        with pytest.raises((ConnectionLost, ConnectFailed), match="certificate expired"):
            await client.call(server.address, Command(1), 60)
        await until(lambda: len(server.connections) == 0)
    (line,) = [each for each in caplog.records if each.getMessage().startswith("connection refused")]
    assert line.__dict__["fields"]["reason"] == "TLS handshake: certificate verify failed: certificate has expired"
    assert server.connections.refused["handshakes"] == 1
    await client.close()
