"""How a client finds and talks to its cluster. One value, shared by every part of a client."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypedDict
from urllib.parse import parse_qsl, urlsplit

from sprocketmq.errors import ConfigError

if TYPE_CHECKING:
    import ssl

DEFAULT_PORT = 9876
ENVIRONMENT = ("SPROCKET_NAMESERVER", "NAMESRV_ADDR")


@dataclass(frozen=True, slots=True)
class Credentials:
    """Access key and secret of RocketMQ's ACL; `token` for temporary ones."""

    access_key: str
    secret_key: str = field(repr=False)
    token: str | None = field(default=None, repr=False)


class Connecting(TypedDict, total=False):
    """The keywords every client takes besides `nameserver`; see ClientOptions."""

    namespace: str
    credentials: Credentials | None
    ssl: ssl.SSLContext | None
    instance_name: str
    unit_name: str
    request_timeout: float
    connect_timeout: float
    route_interval: float
    heartbeat_interval: float


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """Times are in seconds. `ssl` turns TLS on for every connection."""

    nameservers: tuple[str, ...]
    namespace: str = ""
    credentials: Credentials | None = None
    ssl: ssl.SSLContext | None = None
    instance_name: str = ""
    unit_name: str = ""
    request_timeout: float = 3.0
    connect_timeout: float = 3.0
    route_interval: float = 30.0
    heartbeat_interval: float = 30.0

    @classmethod
    def of(cls, nameserver: str | Sequence[str] | ClientOptions | None, **changes: Any) -> ClientOptions:
        """Options from a nameserver address (or several), a `rocketmq://` URL, or the environment."""
        _check_keywords(changes)
        if isinstance(nameserver, ClientOptions):
            return replace(nameserver, **changes)
        if isinstance(nameserver, str) and nameserver.startswith("rocketmq://"):
            return _from_url(nameserver, changes)
        return cls(_addresses(nameserver), **changes)


def _check_keywords(given: dict[str, Any]) -> None:
    for name in given:
        if name not in Connecting.__annotations__:
            raise TypeError(f"unknown keyword {name!r}; {_where(name)}")


def _where(name: str) -> str:
    """Where the setting is that somebody may have meant."""
    from sprocketmq.client import settings

    found = [
        f"settings={cls.__name__}({each.name}=...)"
        for cls in (settings.ProducerSettings, settings.ConsumerSettings, settings.PullSettings)
        for each in fields(cls)
        if name in each.name or each.name in name
    ]
    found += [f"{known}=..." for known in Connecting.__annotations__ if name in known]
    if found:
        return f"did you mean {', '.join(found)}?"
    return f"known are {', '.join(Connecting.__annotations__)}, and what settings= takes"


def _addresses(nameserver: str | Sequence[str] | None) -> tuple[str, ...]:
    given = nameserver or next((value for name in ENVIRONMENT if (value := os.environ.get(name))), None)
    if not given:
        raise ConfigError(f"no nameserver: pass nameserver='host:{DEFAULT_PORT}' or set {ENVIRONMENT[0]}")
    parts = given.replace(",", ";").split(";") if isinstance(given, str) else list(given)
    addresses = tuple(_with_port(part.strip()) for part in parts if part.strip())
    if not addresses:
        raise ConfigError(f"no nameserver in {given!r}")
    return addresses


def _with_port(address: str) -> str:
    _, separator, port = address.rpartition(":")
    if not separator or address.endswith("]"):
        return f"{address}:{DEFAULT_PORT}"
    if not port.isdigit():
        raise ConfigError(f"nameserver {address!r} is not HOST:PORT")
    return address


_URL_KEYS = {"namespace": str, "instance_name": str, "unit_name": str, "request_timeout": float}


def _from_url(url: str, changes: dict[str, Any]) -> ClientOptions:
    parts = urlsplit(url)
    user, _, hosts = parts.netloc.rpartition("@")
    query = dict(parse_qsl(parts.query))
    options = ClientOptions(_addresses(hosts), **changes)
    if user:
        access_key, _, secret_key = user.partition(":")
        options = replace(options, credentials=Credentials(access_key, secret_key))
    for key, text in query.items():
        if key not in _URL_KEYS:
            raise ConfigError(f"unknown option {key!r} in {parts.scheme} URL; known: {', '.join(_URL_KEYS)}")
        options = replace(options, **{key: _URL_KEYS[key](text)})
    return options
