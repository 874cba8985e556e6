"""TLS and ACL options, up to a server that wants both."""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.certificates import KEY_PASSWORD, Certificates
from tests.signatures import is_signed

from sprocketmq.client.errors import ClientError
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.remoting.connection import Connection
from sprocketmq.remoting.handlers import ProcessorTable
from sprocketmq.remoting.server import RemotingServer
from sprocketmq.remoting.tls import TlsConfig, TlsService
from sprocketmq.spark.options.connection import CONNECTION_OPTIONS, Connect
from sprocketmq.spark.options.options import OptionError, Options

SECRET = "12345678"


def answer(_connection: Connection, request: Command) -> Command:
    """The list of topics, for requests that are signed with the one secret there is."""
    fields = request.ext_fields or {}
    if fields.get("AccessKey") != "spark" or not is_signed(fields, request.body, SECRET):
        return request.reply(ResponseCode.NO_PERMISSION, remark="wrong signature")
    return request.reply(ResponseCode.SUCCESS, body=b'{"topicList":["orders"]}')


@pytest.fixture
def address(certificate: tuple[Path, Path]) -> Iterator[str]:
    """A nameserver on a thread of its own: Spark's tasks have no event loop."""
    cert, key = map(str, certificate)
    tls = TlsService.of(TlsConfig(tls_server_cert_path=cert, tls_server_key_path=key))
    table = ProcessorTable()
    table.add(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, answer)
    server = RemotingServer(table, "127.0.0.1", tls=tls.server)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.start(), loop).result(60)
    yield server.address
    asyncio.run_coroutine_threadsafe(server.stop(grace=1), loop).result(60)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def topics(address: str, **given: str) -> list[str]:
    options = {"nameserver": address, "fetchOffset.numRetries": "0", "requestTimeoutMs": "5000", **given}
    with Connect.of(Options(options, CONNECTION_OPTIONS)).open() as cluster:
        return cluster.topics()


def test_tls_and_a_signature(address: str, certificate: tuple[Path, Path]) -> None:
    keys = {"accessKey": "spark", "secretKey": SECRET, "securityToken": "token"}
    tls = {"tls": "true", "tlsCaFile": str(certificate[0])}
    assert topics(address, **tls, **keys) == ["orders"]
    assert topics(address, tls="true", tlsVerify="false", **keys) == ["orders"]
    with pytest.raises(ClientError, match="wrong signature"):
        topics(address, **tls, **{**keys, "secretKey": "another"})
    with pytest.raises(ClientError, match="certificate"):
        topics(address, tls="true", **keys)


def test_options_that_belong_together() -> None:
    with pytest.raises(OptionError, match="'accessKey' and 'secretKey' go together"):
        topics("127.0.0.1:1", accessKey="spark")
    with pytest.raises(OptionError, match="'tlsCaFile' needs the option 'tls' true"):
        topics("127.0.0.1:1", tlsCaFile="ca.pem")


def test_secrets_are_not_printed() -> None:
    given = {"nameserver": "h:1", "accessKey": "spark", "secretKey": SECRET, "securityToken": "token"}
    shown = repr(Connect.of(Options(given, CONNECTION_OPTIONS)))
    assert SECRET not in shown
    assert "token" not in shown.replace("security_token", "")


def test_our_own_certificate_travels_to_the_workers(certificates: Certificates) -> None:
    given = {
        "nameserver": "a:1", "tls": "true", "tlsCaFile": str(certificates.ca), "tlsCheckHostname": "false",
        "tlsCertFile": str(certificates.locked.cert), "tlsKeyFile": str(certificates.locked.key),
        "tlsKeyPassword": KEY_PASSWORD,
    }  # fmt: skip
    connect = pickle.loads(pickle.dumps(Connect.of(Options(given, CONNECTION_OPTIONS))))
    assert KEY_PASSWORD not in repr(connect)
    assert not connect.tls.context().check_hostname
