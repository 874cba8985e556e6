"""Clusters that ask who you are: TLS, and signed requests. Apache's only, for our servers have neither yet."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.e2e.collect import Collector
from tests.peers.apache import ApacheBroker, ApacheNameServer
from tests.peers.java_peer import JavaPeer
from tests.peers.patience import PATIENT_S
from tests.peers.servers import Cluster
from tests.peers.toolchain import needs_tools
from tests.spark.topics import bodies, read, write

from sprocketmq.client import (
    AdminClient,
    ConsumerSettings,
    Credentials,
    Message,
    Offline,
    Producer,
    ProducerSettings,
    PushConsumer,
    Refused,
)

pytestmark = pytest.mark.interop

Unique = Callable[[str], str]
USER = Credentials("admin-user", "a-secret-of-12")
ONCE = ProducerSettings(retries=0, send_timeout=PATIENT_S)
_PROVIDERS = "org.apache.rocketmq.auth.authentication.provider"
SIGNED = {
    "authenticationEnabled": "true",
    "authenticationProvider": f"{_PROVIDERS}.DefaultAuthenticationProvider",
    "authenticationMetadataProvider": f"{_PROVIDERS}.LocalAuthenticationMetadataProvider",
    "initAuthenticationUser": f'{{"username":"{USER.access_key}","password":"{USER.secret_key}"}}',
    "innerClientAuthenticationCredentials": f'{{"accessKey":"{USER.access_key}","secretKey":"{USER.secret_key}"}}',
}


@pytest.fixture(scope="module")
def secured(certificate: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Takes TLS beside plain connections, and signed requests only."""
    place = tmp_path_factory.mktemp("secured")
    tls = {
        "tls.server.mode": "permissive", "tls.test.mode.enable": "false", "tls.server.need.client.auth": "none",
        "tls.server.certPath": str(certificate[0]), "tls.server.keyPath": str(certificate[1]),
    }  # fmt: skip
    nameserver = ApacheNameServer(place / "nameserver", properties=tls)
    broker = ApacheBroker(place / "broker", nameserver.address, SIGNED, properties=tls)
    running = Cluster("apache", nameserver, broker)
    with needs_tools():
        running.start()
    yield running
    running.kill()


@pytest.fixture
def trusting(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificate[0]))


async def test_tls_and_signatures(
    secured: Cluster, trusting: ssl.SSLContext, unique: Unique, java_533: JavaPeer
) -> None:
    topic, handler = unique("topic"), Collector()
    how = {"ssl": trusting, "credentials": USER}
    async with AdminClient(secured.address, **how) as admin:  # type: ignore[arg-type]
        await admin.topics.create(topic, queues=2)
    consumer = PushConsumer(
        unique("g"),
        secured.address,
        settings=ConsumerSettings(consume_from="first"),
        **how,  # type: ignore[arg-type]
    )
    consumer.add_handler(topic, handler)
    async with Producer(unique("pg"), secured.address, **how) as producer, consumer:  # type: ignore[arg-type]
        await producer.send(Message(topic, b"one", keys="k"))
        await producer.send_batch([Message(topic, b"two"), Message(topic, b"three")])
        await producer.submit(Message(topic, b"four"))
        await handler.wait_for(b"one", b"two", b"three", b"four")
    keys = (USER.access_key, USER.secret_key)
    java = await asyncio.to_thread(java_533.push_consumer, unique("g"), secured.address, [topic], acl=keys)
    try:
        await asyncio.to_thread(java.wait_bodies, [b"one", b"two", b"three", b"four"])
    finally:
        await asyncio.to_thread(java.shutdown)


@pytest.mark.parametrize(
    "credentials", [None, Credentials(USER.access_key, "a-wrong-secret"), Credentials("nobody", "x" * 12)]
)
async def test_others_are_refused(secured: Cluster, credentials: Credentials | None, unique: Unique) -> None:
    async with Producer(unique("pg"), secured.address, settings=ONCE, credentials=credentials) as producer:
        with pytest.raises(Refused) as caught:
            await producer.send(Message(unique("topic"), b"x"))
    assert caught.value.remark


async def test_time_number_and_code_are_fields_like_others(secured: Cluster, unique: Unique) -> None:
    """What strict users sign besides: Apache does not know it, and signs it again with the rest."""
    topic, handler, strict = unique("topic"), Collector(), replace(USER, strict=True)
    async with AdminClient(secured.address, credentials=strict) as admin:
        await admin.topics.create(topic, queues=2)
    settings = ConsumerSettings(consume_from="first")
    consumer = PushConsumer(unique("g"), secured.address, settings=settings, credentials=strict)
    consumer.add_handler(topic, handler)
    async with Producer(unique("pg"), secured.address, credentials=strict) as producer, consumer:
        await producer.send(Message(topic, b"one"))
        await producer.send_batch([Message(topic, b"two"), Message(topic, b"three")])
        await handler.wait_for(b"one", b"two", b"three")


def test_the_options_of_spark(secured: Cluster, certificate: tuple[Path, Path], unique: Unique) -> None:
    topic, where = unique("topic"), secured.address
    tls = {"tls": "true", "tlsCaFile": str(certificate[0])}
    keys = {"accessKey": USER.access_key or "", "secretKey": USER.secret_key}
    write(where, topic, bodies(30), **tls, **keys)
    found = read(where, topic, **tls, **keys)
    assert sorted(row["body"] for row in found) == sorted(row["body"] for row in bodies(30))
    once = {"fetchOffset.numRetries": "0"}
    with pytest.raises(Refused):
        read(where, topic, **tls, **once, **{**keys, "secretKey": "a-wrong-secret"})
    with pytest.raises(Offline, match="certificate"):
        read(where, topic, **keys, **once, tls="true")


async def test_a_server_that_is_not_trusted(secured: Cluster, unique: Unique) -> None:
    strict = ssl.create_default_context()
    async with Producer(unique("pg"), secured.address, settings=ONCE, ssl=strict, credentials=USER) as producer:
        with pytest.raises(Offline, match="certificate"):
            await producer.send(Message(unique("topic"), b"x"))
