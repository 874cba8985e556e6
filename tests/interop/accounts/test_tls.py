"""Real Java clients and mqadmin against our servers with TLS, in its modes, with right, wrong and no certificates.

One JVM for each client version and certificate; servers are in this process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.certificates import CLIENT_NAME, Certificates
from tests.peers.java_peer import JAVA_VERSIONS, JavaPeer, JavaVersion
from tests.peers.lines import PeerError
from tests.peers.messages import Outgoing
from tests.peers.mqadmin import MqAdmin
from tests.peers.toolchain import needs_tools

from sprocketmq.certificates import PemFiles
from sprocketmq.testing import EmbeddedCluster

pytestmark = pytest.mark.interop

Unique = Callable[[str], str]
ONCE = {"retryTimesWhenSendFailed": 0, "sendMsgTimeout": 3000, "mqClientApiTimeout": 3000}
TLS, PLAIN = {"useTLS": True}, {"useTLS": False}


def inner(certificates: Certificates) -> dict[str, str]:
    """The broker finds its nameserver over TLS, and shows a certificate."""
    return {
        "tls.enable": "true",
        "tls.client.trustCertPath": str(certificates.ca),
        "tls.client.certPath": str(certificates.client.cert),
        "tls.client.keyPath": str(certificates.client.key),
    }


@pytest.fixture(scope="module")
def permissive(certificates: Certificates) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(conf={**certificates.server_keys(), **inner(certificates)}) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def strict(certificates: Certificates) -> Iterator[EmbeddedCluster]:
    """TLS alone, and a certificate of every client."""
    keys = certificates.server_keys(
        tls_server_mode="enforcing", tls_server_need_client_auth="require",
        tls_server_trustCertPath=str(certificates.ca),
    )  # fmt: skip
    with EmbeddedCluster(conf={**keys, **inner(certificates)}) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def accounts(certificates: Certificates) -> Iterator[EmbeddedCluster]:
    """A certificate's name is a user's; everybody else signs."""
    keys = certificates.server_keys(
        tls_server_need_client_auth="optional", tls_server_trustCertPath=str(certificates.ca)
    )
    user = {"username": CLIENT_NAME, "password": "signs-for-others"}
    users = {
        "authenticationEnabled": "true", "authorizationEnabled": "true", "certificateAsUser": "true",
        "initAuthenticationUser": json.dumps(user),
    }  # fmt: skip
    with EmbeddedCluster(conf={**keys, **inner(certificates), **users}) as cluster:
        yield cluster


@pytest.fixture(scope="module", params=JAVA_VERSIONS)
def version(request: pytest.FixtureRequest) -> JavaVersion:
    chosen: JavaVersion = request.param
    return chosen


def verifying(certificates: Certificates, own: PemFiles, ca: Path) -> dict[str, str]:
    return {
        "tls.test.mode.enable": "false", "tls.client.authServer": "true", "tls.client.trustCertPath": str(ca),
        "tls.client.certPath": str(own.cert), "tls.client.keyPath": str(own.key),
    }  # fmt: skip


@pytest.fixture(scope="module")
def known(
    version: JavaVersion, certificates: Certificates, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[JavaPeer]:
    """It trusts our authority, which vouches for it too."""
    properties = verifying(certificates, certificates.client, certificates.ca)
    with needs_tools():
        peer = JavaPeer(version, tmp_path_factory.mktemp(f"known-{version}"), properties=properties)
    with peer:
        yield peer


@pytest.fixture(scope="module")
def stranger(
    version: JavaVersion, certificates: Certificates, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[JavaPeer]:
    """It trusts another authority, which vouches for it."""
    properties = verifying(certificates, certificates.stranger, certificates.stranger_ca)
    with needs_tools():
        peer = JavaPeer(version, tmp_path_factory.mktemp(f"stranger-{version}"), properties=properties)
    with peer:
        yield peer


def exchange(peer: JavaPeer, cluster: EmbeddedCluster, unique: Unique, how: dict[str, bool]) -> None:
    """Sends and consumes through a nameserver and a broker; raises when it is not let in."""
    topic = unique("topic")
    with peer.producer(unique("pg"), cluster.nameserver, options={**ONCE, **how}) as producer:
        producer.send(Outgoing(topic, b"hello"))
    with peer.push_consumer(unique("cg"), cluster.nameserver, [topic], options=how) as consumer:
        assert consumer.wait(1)[0].body == b"hello"


def is_refused(peer: JavaPeer, cluster: EmbeddedCluster, unique: Unique, how: dict[str, bool]) -> bool:
    with peer.producer(unique("pg"), cluster.nameserver, options={**ONCE, **how}) as producer:
        with pytest.raises(PeerError):
            producer.send(Outgoing(unique("topic"), b"hello"))
    return True


@pytest.mark.parametrize("how", [TLS, PLAIN], ids=["TLS", "plain"])
def test_one_port_for_both(known: JavaPeer, permissive: EmbeddedCluster, unique: Unique, how: dict[str, bool]) -> None:
    exchange(known, permissive, unique, how)


def test_a_certificate_that_we_vouch_for(known: JavaPeer, strict: EmbeddedCluster, unique: Unique) -> None:
    exchange(known, strict, unique, TLS)


def test_a_certificate_is_an_account(
    known: JavaPeer, java_533: JavaPeer, accounts: EmbeddedCluster, unique: Unique
) -> None:
    """Nobody signs here: who shows the certificate is its user, who shows none is nobody."""
    exchange(known, accounts, unique, TLS)
    assert is_refused(java_533, accounts, unique, TLS)
    assert is_refused(known, accounts, unique, PLAIN)


def test_plain_where_tls_is_enforced(known: JavaPeer, strict: EmbeddedCluster, unique: Unique) -> None:
    assert is_refused(known, strict, unique, PLAIN)


def test_tls_where_it_is_not_spoken(known: JavaPeer, cluster_without: EmbeddedCluster, unique: Unique) -> None:
    assert is_refused(known, cluster_without, unique, TLS)


@pytest.fixture(scope="module")
def cluster_without() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(conf={"tls.server.mode": "disabled"}) as cluster:
        yield cluster


def test_wrong_authorities_on_either_side(
    stranger: JavaPeer, permissive: EmbeddedCluster, strict: EmbeddedCluster, unique: Unique
) -> None:
    """The client does not believe the server; the server would not believe the client."""
    assert is_refused(stranger, permissive, unique, TLS)
    assert is_refused(stranger, strict, unique, TLS)
    exchange(stranger, permissive, unique, PLAIN)


def test_no_certificate(java: JavaPeer, permissive: EmbeddedCluster, strict: EmbeddedCluster, unique: Unique) -> None:
    """As Java's clients are without any setting but useTLS: they believe everybody and show nothing."""
    exchange(java, permissive, unique, TLS)
    assert is_refused(java, strict, unique, TLS)


def test_mqadmin(
    version: JavaVersion, permissive: EmbeddedCluster, strict: EmbeddedCluster, certificates: Certificates,
    tmp_path: Path,
) -> None:  # fmt: skip
    properties = {"tls.enable": "true", **verifying(certificates, certificates.client, certificates.ca)}
    tool = MqAdmin(version, tmp_path, properties)
    try:
        for cluster in (permissive, strict):
            with needs_tools():
                ran = tool.run("clusterList", "-n", cluster.nameserver)
            assert "broker-a" in ran.stdout, ran
            made = tool.run("updateTopic", "-n", cluster.nameserver, "-c", "DefaultCluster", "-t", "made-by-mqadmin")
            assert "success" in made.stdout, made
    finally:
        tool.close()
