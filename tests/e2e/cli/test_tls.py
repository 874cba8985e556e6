"""`--tls`: the commands talk to servers behind TLS, only when their certificate is trusted, and show their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.certificates import KEY_PASSWORD, Certificates
from tests.e2e.cli.commands import rows, sprocket

from sprocketmq.testing import EmbeddedCluster


@pytest.fixture(scope="module")
def address(certificates: Certificates) -> Iterator[str]:
    keys = certificates.server_keys(tls_server_mode="enforcing")
    inner = {"tls.enable": "true", "tls.client.trustCertPath": str(certificates.ca)}
    with EmbeddedCluster(conf={**keys, **inner}) as cluster:
        yield cluster.nameserver


@pytest.fixture(scope="module")
def strict(certificates: Certificates) -> Iterator[str]:
    """Nobody gets in without a certificate."""
    keys = certificates.server_keys(
        tls_server_need_client_auth="require", tls_server_trustCertPath=str(certificates.ca),
        tls_server_mode="enforcing",
    )  # fmt: skip
    own = {"tls.client.certPath": str(certificates.client.cert), "tls.client.keyPath": str(certificates.client.key)}
    with EmbeddedCluster(conf={**keys, **own, "tls.enable": "true"}) as cluster:
        yield cluster.nameserver


def test_a_certificate_that_is_trusted(address: str, certificates: Certificates) -> None:
    assert rows(address, "topic", "list", "--all", "--tls", "--tls-ca", certificates.ca)
    assert rows(address, "topic", "list", "--all", "--tls", "--tls-no-verify")
    sent = sprocket(address, "send", "--tls-ca", certificates.ca, "greetings", "hello")
    assert sent.returncode == 0, sent.stderr


def test_one_that_is_not(address: str) -> None:
    done = sprocket(address, "topic", "list", "--all", "--tls")
    assert (done.returncode, b"certificate" in done.stderr) == (1, True)


def test_our_own_certificate(strict: str, certificates: Certificates, tmp_path: Path) -> None:
    trusting = ("--tls-ca", certificates.ca)
    own = ("--tls-cert", certificates.client.cert, "--tls-key", certificates.client.key)
    assert rows(strict, "topic", "list", "--all", *trusting, *own)
    for words in (
        trusting,
        (*trusting, "--tls-cert", certificates.stranger.cert, "--tls-key", certificates.stranger.key),
    ):
        done = sprocket(strict, "topic", "list", "--all", *words)
        assert (done.returncode, b"--tls-cert" in done.stderr) == (1, True), done.stderr


def test_plain_where_tls_is_enforced(address: str) -> None:
    done = sprocket(address, "topic", "list")
    assert (done.returncode, b"does it want --tls" in done.stderr) == (1, True), done.stderr


def test_a_key_that_is_locked(strict: str, certificates: Certificates, tmp_path: Path) -> None:
    words = ("--tls-ca", certificates.ca, "--tls-cert", certificates.locked.cert, "--tls-key", certificates.locked.key)
    done = sprocket(strict, "topic", "list", *words)
    assert (done.returncode, b"it is encrypted" in done.stderr) == (2, True)
    (tmp_path / "password").write_text(KEY_PASSWORD)
    done = sprocket(strict, "topic", "list", *words, "--tls-key-password-file", tmp_path / "password")
    assert b"it is encrypted" not in done.stderr  # a server's certificate is still no client's
