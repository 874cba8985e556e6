from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
from tests.certificates import KEY_PASSWORD, Certificates

from sprocketmq.client import (
    ConsumerSettings,
    InvalidName,
    Producer,
    ProducerSettings,
    PullConsumer,
    PullSettings,
    PushConsumer,
    sync,
)
from sprocketmq.client.cluster.identity import client_id, unique_key
from sprocketmq.client.options import ClientOptions, Credentials
from sprocketmq.errors import ConfigError


@pytest.mark.parametrize(
    ("given", "addresses"),
    [
        ("host:1", ("host:1",)),
        ("host", ("host:9876",)),
        ("a:1;b:2", ("a:1", "b:2")),
        ("a:1, b:2", ("a:1", "b:2")),
        (["a:1", "b"], ("a:1", "b:9876")),
        ("rocketmq://a:1;b:2", ("a:1", "b:2")),
    ],
)
def test_nameservers(given: str | list[str], addresses: tuple[str, ...]) -> None:
    assert ClientOptions.of(given).nameservers == addresses


def test_url() -> None:
    options = ClientOptions.of("rocketmq://key:secret@a:1?namespace=ns&request_timeout=1.5")
    assert options.credentials == Credentials("key", "secret")
    assert (options.namespace, options.request_timeout) == ("ns", 1.5)


def test_credentials_in_a_url_are_decoded() -> None:
    options = ClientOptions.of("rocketmq://k%3Aey:s%40cr%2Fet+%2B@a:1")
    assert options.credentials == Credentials("k:ey", "s@cr/et++")


@pytest.mark.parametrize(
    ("url", "is_tls"),
    [
        ("rocketmq://a:1", False), ("rocketmqs://a:1", True), ("rocketmq://a:1?tls=true", True),
        ("rocketmqs://a:1?tls=false", False),
    ],
)  # fmt: skip
def test_tls_in_a_url(url: str, is_tls: bool) -> None:
    context = ClientOptions.of(url).ssl
    assert (context is not None) == is_tls
    assert context is ClientOptions.of(url).ssl  # so that clients with one URL share their connections
    if context is not None:
        assert context.verify_mode is ssl.CERT_REQUIRED


def test_our_own_certificate_in_a_url(certificates: Certificates) -> None:
    own = f"tls_cert={certificates.client.cert}&tls_key={certificates.client.key}"
    lenient = ClientOptions.of(f"rocketmqs://a:1?tls_ca={certificates.ca}&{own}&tls_check_hostname=false").ssl
    assert lenient is not None
    assert (lenient.check_hostname, lenient.verify_mode) == (False, ssl.CERT_REQUIRED)
    locked = f"tls_cert={certificates.locked.cert}&tls_key={certificates.locked.key}&tls_key_password="
    assert ClientOptions.of(f"rocketmqs://a:1?{locked}{KEY_PASSWORD}").ssl is not None
    with pytest.raises(ConfigError, match="does not open it"):
        ClientOptions.of(f"rocketmqs://a:1?{locked}another")
    with pytest.raises(ConfigError, match="without its certificate"):
        ClientOptions.of("rocketmqs://a:1?tls_key=x")
    with pytest.raises(ConfigError, match=r"/nowhere.pem: No such file"):
        ClientOptions.of("rocketmqs://a:1?tls_ca=/nowhere.pem")


def test_tls_that_trusts_whom_it_is_told(certificate: tuple[Path, Path]) -> None:
    anybody = ClientOptions.of("rocketmqs://a:1?tls_verify=false").ssl
    assert anybody is not None
    assert anybody.verify_mode is ssl.CERT_NONE
    own = ClientOptions.of(f"rocketmqs://a:1?tls_ca={certificate[0]}").ssl
    assert own is not None
    assert len(own.get_ca_certs()) == 1


@pytest.mark.parametrize("client", [Producer, PushConsumer, PullConsumer, sync.Producer, sync.PushConsumer])
def test_the_group_may_be_in_the_url(client: Any) -> None:
    made = client(nameserver="rocketmq://a:1?group=billing&namespace=ns")
    assert repr(made) == f"<{client.__name__} ns%billing at a:1, not started>"
    assert "ns%own" in repr(client("own", "rocketmq://a:1?group=billing&namespace=ns"))
    with pytest.raises(InvalidName, match="group"):
        client(nameserver="a:1")


def test_clients_of_different_groups_share_an_instance() -> None:
    assert ClientOptions.of("rocketmq://a:1?group=x") == ClientOptions.of("rocketmq://a:1?group=y")


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPROCKET_NAMESERVER", raising=False)
    monkeypatch.setenv("NAMESRV_ADDR", "old:1")
    assert ClientOptions.of(None).nameservers == ("old:1",)
    monkeypatch.setenv("SPROCKET_NAMESERVER", "new:1")
    assert ClientOptions.of(None).nameservers == ("new:1",)


@pytest.mark.parametrize(
    "wrong",
    [
        "host:port",
        ";",
        "http://a:1",
        "a:1;https://b:1",
        "rocketmq://a:1?speed=high",
        "rocketmq://a:1?tls=perhaps",
        "rocketmq://a:1?request_timeout=x",
    ],
)
def test_what_cannot_be_used(wrong: str) -> None:
    with pytest.raises(ConfigError):
        ClientOptions.of(wrong)


@pytest.mark.parametrize("wrong", [5, b"host:1", ["host:1", 2], {"host:1"}])
def test_a_nameserver_of_another_type_is_named(wrong: Any) -> None:
    with pytest.raises(TypeError, match="nameserver is a text or a list of texts, not"):
        Producer("group", wrong)


def test_no_nameserver_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPROCKET_NAMESERVER", raising=False)
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    with pytest.raises(ConfigError, match="SPROCKET_NAMESERVER"):
        ClientOptions.of(None)


@pytest.mark.parametrize(
    ("client", "right", "wrong"),
    [
        (Producer, ProducerSettings, PullSettings),
        (PushConsumer, ConsumerSettings, PullSettings),
        (PullConsumer, PullSettings, ConsumerSettings),
    ],
)
def test_settings_of_something_else_are_refused(client: Any, right: Any, wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"settings must be {right.__name__}, not {wrong.__name__}"):
        client("g", "a:1", settings=wrong())
    assert client("g", "a:1", settings=right()).settings == client("g", "a:1").settings == right()


def test_secrets_do_not_show() -> None:
    assert "hunter2" not in repr(ClientOptions.of("rocketmq://key:hunter2@a:1"))


def test_ids_never_clash() -> None:
    assert len({client_id() for _ in range(1000)}) == 1000
    assert len({unique_key() for _ in range(1000)}) == 1000
    assert client_id("mine", "unit").endswith("@mine@unit")


@pytest.mark.parametrize("wrong", ["a:99999", "a:0", "a:1 b:2", "a:1:2", ":9876", "a:1²"])
def test_what_is_no_address_raises_where_it_is_given(wrong: str) -> None:
    with pytest.raises(ConfigError, match="is not HOST:PORT"):
        ClientOptions.of(wrong)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("rocketmq://key@a:1", "both access key and secret"),
        ("rocketmq://:secret@a:1", "both access key and secret"),
        ("rocketmq://key:se/cret@a:1", "'cret@a:1' in the URL means nothing; .* write / as %2F"),
        ("rocketmq://key:se#cret@a:1", "'cret@a:1' in the URL means nothing"),
        ("rocketmq://a:1/orders", "'orders' in the URL means nothing"),
    ],
)
def test_a_part_of_a_url_that_would_be_lost(url: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        ClientOptions.of(url)


def test_addresses_that_are_fine() -> None:
    assert ClientOptions.of("[::1]:1;::1:2;[::1];a").nameservers == ("[::1]:1", "::1:2", "[::1]:9876", "a:9876")
    assert ClientOptions.of("rocketmq://a:1/").nameservers == ("a:1",)
