"""How a client finds and talks to its cluster. One value, shared by every part of a client.

HOST:PORT;HOST:PORT
rocketmq://KEY:SECRET@HOST:PORT;HOST:PORT?group=g&namespace=ns      %XX in key and secret stands for any byte
rocketmqs://...     the same with TLS, as is ?tls=true; tls_ca=FILE trusts that file, tls_cert=FILE and tls_key=FILE are
                    our own; tls_verify=false trusts anybody, tls_check_hostname=false any name that is vouched for
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from sprocketmq.client.setting_check import check_settings
from sprocketmq.errors import ConfigError

if TYPE_CHECKING:
    import ssl

    from sprocketmq.protocol.signing import RequestStamps

S = TypeVar("S")

DEFAULT_PORT = 9876
TLS_SCHEME = "rocketmqs"
_SCHEMES = ("rocketmq://", f"{TLS_SCHEME}://")
ENVIRONMENT = ("SPROCKET_NAMESERVER", "NAMESRV_ADDR")


@dataclass(frozen=True, slots=True)
class Credentials:
    """Access key and secret of RocketMQ's ACL; `token` for temporary ones."""

    access_key: str
    """The name of the account."""
    secret_key: str = field(repr=False)
    """What signs; shown nowhere."""
    token: str | None = field(default=None, repr=False)
    """Of temporary credentials."""
    strict: bool = False
    """Sign a time, a number used once and the request code too: of use where the user is marked strict."""

    def sign(self, fields: Mapping[str, str], body: bytes | bytearray, code: int | None = None) -> dict[str, str]:
        """The header fields of a request, with its signature; `code` is the request's, which a strict one needs."""
        from sprocketmq.protocol import signing  # with all of HMAC, which a cluster without accounts never asks for

        if self.strict and code is not None:
            fields = _stamps().stamped(fields, code)
        return signing.with_signature(
            fields, body, access_key=self.access_key, secret_key=self.secret_key, security_token=self.token
        )


@cache
def _stamps() -> RequestStamps:
    from sprocketmq.protocol.signing import RequestStamps

    return RequestStamps()


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
    """Times are in seconds. `ssl` turns TLS on for every connection. `group` is that of a client which names none."""

    nameservers: tuple[str, ...]
    """`HOST:PORT` of each; taken from the argument `nameserver`, a URL, `SPROCKET_NAMESERVER` or `NAMESRV_ADDR`."""
    namespace: str = ""
    """Put before the names of topics and groups, so that tenants of one cluster do not meet."""
    credentials: Credentials | None = None
    """Signs every request for a cluster with access control."""
    ssl: ssl.SSLContext | None = None
    """TLS for every connection; `ssl.create_default_context()` or one of your own."""
    instance_name: str = ""
    """Part of the id by which brokers know this client; by default one that no other has."""
    unit_name: str = ""
    """Part of the id as well, for deployments in units."""
    request_timeout: float = 3.0
    """Seconds for a request that has no timeout of its own."""
    connect_timeout: float = 3.0
    """Seconds for a new connection."""
    route_interval: float = 30.0
    """Seconds between two looks at the routes of the topics in use."""
    heartbeat_interval: float = 30.0
    """Seconds between two heartbeats to the brokers."""
    group: str = field(default="", compare=False)
    """The group of a client that is given none; of a URL's `group=`."""

    def __post_init__(self) -> None:
        check_settings(self)
        if self.credentials is not None and not isinstance(self.credentials, Credentials):
            raise TypeError(f"credentials must be Credentials(...), not {type(self.credentials).__name__}")
        if self.ssl is not None:
            from ssl import SSLContext

            if not isinstance(self.ssl, SSLContext):
                raise TypeError(f"ssl must be an ssl.SSLContext, not {type(self.ssl).__name__}")

    @classmethod
    def of(cls, nameserver: str | Sequence[str] | ClientOptions | None, **changes: Any) -> ClientOptions:
        """Options from a nameserver address (or several), a `rocketmq://` URL, or the environment."""
        _check_keywords(changes)
        if isinstance(nameserver, ClientOptions):
            return replace(nameserver, **changes)
        if isinstance(nameserver, str) and nameserver.startswith(_SCHEMES):
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


def settings_of(kind: type[S], given: S | None) -> S:
    """What was given, or the defaults; TypeError when it is the settings of something else."""
    if given is not None and not isinstance(given, kind):
        raise TypeError(f"settings must be {kind.__name__}, not {type(given).__name__}")
    return given or kind()


def _addresses(nameserver: str | Sequence[str] | None) -> tuple[str, ...]:
    given = nameserver or next((value for name in ENVIRONMENT if (value := os.environ.get(name))), None)
    if not given:
        raise ConfigError(f"no nameserver: pass nameserver='host:{DEFAULT_PORT}' or set {ENVIRONMENT[0]}")
    parts = given.replace(",", ";").split(";") if isinstance(given, str) else given
    if not isinstance(parts, Sequence) or not all(isinstance(part, str) for part in parts):
        raise TypeError(f"nameserver is a text or a list of texts, not {given!r}")
    addresses = tuple(_with_port(part.strip()) for part in parts if part.strip())
    if not addresses:
        raise ConfigError(f"no nameserver in {given!r}")
    return addresses


def _with_port(address: str) -> str:
    if "://" in address:
        raise ConfigError(f"nameserver {address!r} is not HOST:PORT, nor does it begin with {' or '.join(_SCHEMES)}")
    if len(address.split()) > 1:
        raise ConfigError(f"nameserver {address!r} is not HOST:PORT; several are joined by ;")
    host, separator, port = address.rpartition(":")
    if not separator or address.endswith("]"):
        return f"{address}:{DEFAULT_PORT}"
    is_one_host = host.count(":") != 1 or host.startswith("[")  # more of them are an IPv6 address
    if not (host and is_one_host and port.isdecimal() and 0 < int(port) < 1 << 16):
        raise ConfigError(f"nameserver {address!r} is not HOST:PORT")
    return address


def _flag(text: str) -> bool:
    if text.lower() not in _FLAGS:
        raise ValueError(f"{text!r} is neither true nor false")
    return _FLAGS[text.lower()]


_FLAGS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
_URL_KEYS: dict[str, Callable[[str], Any]] = {
    "group": str, "namespace": str, "instance_name": str, "unit_name": str, "request_timeout": float,
    "connect_timeout": float, "tls": _flag, "tls_verify": _flag, "tls_check_hostname": _flag, "tls_ca": str,
    "tls_cert": str, "tls_key": str, "tls_key_password": str,
}  # fmt: skip


def _from_url(url: str, changes: dict[str, Any]) -> ClientOptions:
    """`rocketmq[s]://[KEY:SECRET@]HOST[:PORT][;HOST...][?name=value&...]`; what is given as a keyword counts more."""
    from urllib.parse import parse_qsl, unquote, urlsplit  # an address needs none of it

    parts = urlsplit(url)
    if extra := parts.path.strip("/") or parts.fragment:
        raise ConfigError(f"{extra!r} in the URL means nothing; in a key or secret, write / as %2F, # as %23, ? as %3F")
    user, _, hosts = parts.netloc.rpartition("@")
    given = {key: _url_value(key, text) for key, text in parse_qsl(parts.query)}
    wanted = given.pop("tls", parts.scheme == TLS_SCHEME)
    how = {key.removeprefix("tls_"): given.pop(key) for key in tuple(given) if key.startswith("tls_")}
    if wanted:
        given["ssl"] = tls_context(**how)
    if user:
        access_key, _, secret_key = user.partition(":")
        if not access_key or not secret_key:
            raise ConfigError(
                "the URL must have both access key and secret, as in rocketmq://KEY:SECRET@HOST, or neither"
            )
        given["credentials"] = Credentials(unquote(access_key), unquote(secret_key))
    return ClientOptions(_addresses(hosts), **{**given, **changes})


def _url_value(key: str, text: str) -> Any:
    if key not in _URL_KEYS:
        raise ConfigError(f"unknown option {key!r} in the URL; known: {', '.join(_URL_KEYS)}")
    try:
        return _URL_KEYS[key](text)
    except ValueError as error:
        raise ConfigError(f"option {key!r} in the URL: {error}") from None


@cache
def tls_context(
    *, ca: str | None = None, cert: str | None = None, key: str | None = None, key_password: str = "",
    verify: bool = True, check_hostname: bool = True,
) -> ssl.SSLContext:  # fmt: skip
    """A context from files in PEM: whom to trust (else the system's authorities), and our own certificate and its key.

    One for all who want the same, so that clients of one cluster go on sharing their connections. ConfigError names a
    file that cannot be used.
    """
    from sprocketmq.remoting.tls import KeyFiles, client_context

    if key and not cert:
        raise ConfigError(f"a key {key} without its certificate")
    own = KeyFiles(cert, key or "", key_password) if cert else None
    return client_context(ca, own, verify=verify, check_host_name=check_hostname)


def describe(client: object, group: str, options: ClientOptions, *, is_started: bool) -> str:
    """A client in one line, without its secrets."""
    state = "started" if is_started else "not started"
    name = " ".join(filter(None, (type(client).__name__, group)))
    return f"<{name} at {';'.join(options.nameservers)}, {state}>"
