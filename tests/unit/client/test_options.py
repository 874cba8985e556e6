from __future__ import annotations

import pytest

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


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPROCKET_NAMESERVER", raising=False)
    monkeypatch.setenv("NAMESRV_ADDR", "old:1")
    assert ClientOptions.of(None).nameservers == ("old:1",)
    monkeypatch.setenv("SPROCKET_NAMESERVER", "new:1")
    assert ClientOptions.of(None).nameservers == ("new:1",)


@pytest.mark.parametrize("wrong", ["host:port", ";", "rocketmq://a:1?speed=high"])
def test_what_cannot_be_used(wrong: str) -> None:
    with pytest.raises(ConfigError):
        ClientOptions.of(wrong)


def test_no_nameserver_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPROCKET_NAMESERVER", raising=False)
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    with pytest.raises(ConfigError, match="SPROCKET_NAMESERVER"):
        ClientOptions.of(None)


def test_secrets_do_not_show() -> None:
    assert "hunter2" not in repr(ClientOptions.of("rocketmq://key:hunter2@a:1"))


def test_ids_never_clash() -> None:
    assert len({client_id() for _ in range(1000)}) == 1000
    assert len({unique_key() for _ in range(1000)}) == 1000
    assert client_id("mine", "unit").endswith("@mine@unit")
