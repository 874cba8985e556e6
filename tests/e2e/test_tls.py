"""Every kind of our clients against our servers, where nobody gets in without TLS and a certificate."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.certificates import CLIENT_NAME, Certificates
from tests.e2e.collect import Collector

from sprocketmq.client import AdminClient, ConsumerSettings, Message, Producer, PullConsumer, PushConsumer, sync
from sprocketmq.client.blocking.connection import BlockingCluster
from sprocketmq.client.errors import ClientError
from sprocketmq.client.options import ClientOptions
from sprocketmq.client.sync.admin import AdminClient as SyncAdminClient
from sprocketmq.testing import EmbeddedCluster


@pytest.fixture(scope="module")
def cluster(certificates: Certificates) -> Iterator[EmbeddedCluster]:
    keys = certificates.server_keys(
        tls_server_mode="enforcing", tls_server_need_client_auth="require",
        tls_server_trustCertPath=str(certificates.ca),
    )  # fmt: skip
    own = {"tls.client.certPath": str(certificates.client.cert), "tls.client.keyPath": str(certificates.client.key)}
    with EmbeddedCluster(conf={**keys, **own, "tls.enable": "true"}) as running:
        yield running


@pytest.fixture
def url(cluster: EmbeddedCluster, certificates: Certificates) -> str:
    own = f"tls_cert={certificates.client.cert}&tls_key={certificates.client.key}"
    return f"rocketmqs://{cluster.nameserver}?tls_ca={certificates.ca}&{own}"


async def test_asyncio(url: str) -> None:
    handler = Collector()
    async with AdminClient(url) as admin:
        await admin.topics.create("by-asyncio", queues=2)
    consumer = PushConsumer("g-asyncio", url, settings=ConsumerSettings(consume_from="first"))
    consumer.add_handler("by-asyncio", handler)
    async with Producer("p", url) as producer, consumer:
        await producer.send(Message("by-asyncio", b"one"))
        await producer.send(Message("by-asyncio", b"x" * 1_000_000))
        await producer.submit(Message("by-asyncio", b"two"))
        await handler.wait_for(b"one", b"x" * 1_000_000, b"two")
    async with PullConsumer("g-pull", url) as puller:
        assert {queue.queue_id for queue in await puller.queues("by-asyncio")} == {0, 1}


def test_threads(url: str) -> None:
    with SyncAdminClient(url) as admin:
        admin.topics.create("by-threads", queues=1)
    with sync.Producer("p", url) as producer:
        assert producer.send(Message("by-threads", b"one")).queue_offset == 0


def test_blocking_sockets(url: str) -> None:
    with BlockingCluster(ClientOptions.of(url)) as blocking:
        assert "broker-a" in blocking.topics()


async def test_the_broker_knows_who_calls(url: str, cluster: EmbeddedCluster) -> None:
    async with Producer("p", url) as producer:
        await producer.send(Message("names", b"one"))
        broker = cluster._broker
        assert broker is not None
        assert CLIENT_NAME in {connection.certificate_name for connection in broker.server.connections}


async def test_nobody_else_gets_in(cluster: EmbeddedCluster, certificates: Certificates) -> None:
    for where in (cluster.nameserver, f"rocketmqs://{cluster.nameserver}?tls_ca={certificates.ca}"):
        async with AdminClient(where) as admin:
            with pytest.raises(ClientError):
                await admin.topics.names()
