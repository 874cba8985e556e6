"""How sources and sinks reach their cluster: options that travel, and the client that each process makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sprocketmq.client.blocking.connection import BlockingCluster
from sprocketmq.client.options import ClientOptions, Credentials, tls_context
from sprocketmq.errors import ConfigError
from sprocketmq.protocol.names import with_namespace
from sprocketmq.spark.options.options import OptionError, Options

if TYPE_CHECKING:
    import ssl

CONNECTION_OPTIONS = (
    "nameserver", "namesrvAddr", "group", "namespace", "accessKey", "secretKey", "securityToken", "tls", "tlsCaFile",
    "tlsCertFile", "tlsKeyFile", "tlsKeyPassword", "tlsVerify", "tlsCheckHostname", "requestTimeoutMs",
    "fetchOffset.numRetries", "fetchOffset.retryIntervalMs",
)  # fmt: skip


@dataclass(frozen=True)
class Tls:
    ca_file: str | None
    cert_file: str | None
    key_file: str | None
    key_password: str = field(default="", repr=False)
    verify: bool = True
    check_hostname: bool = True

    def context(self) -> ssl.SSLContext:
        return tls_context(
            ca=self.ca_file, cert=self.cert_file, key=self.key_file, key_password=self.key_password,
            verify=self.verify, check_hostname=self.check_hostname,
        )  # fmt: skip


@dataclass(frozen=True)
class Connect:
    """Plain data. `open` makes a client, which belongs to the process that made it."""

    nameservers: tuple[str, ...]
    namespace: str = ""
    access_key: str | None = None
    secret_key: str = field(default="", repr=False)
    security_token: str | None = field(default=None, repr=False)
    tls: Tls | None = None
    request_timeout: float = 10.0
    retries: int = 10
    retry_pause: float = 0.1

    @classmethod
    def of(cls, options: Options) -> Connect:
        options.only_one_of("nameserver", "namesrvAddr")
        try:
            nameservers = ClientOptions.of(options.text("nameserver") or options.text("namesrvAddr")).nameservers
        except ConfigError as error:
            raise OptionError("nameserver", f"is missing or malformed: {error}") from None
        if ("accessKey" in options) != ("secretKey" in options):
            raise OptionError("accessKey", "and 'secretKey' go together")
        return cls(
            nameservers,
            options.text("namespace") or "",
            options.text("accessKey"),
            options.text("secretKey") or "",
            options.text("securityToken"),
            _tls(options),
            (options.integer("requestTimeoutMs", 10_000) or 0) / 1000,
            options.integer("fetchOffset.numRetries", 10, least=0) or 0,
            (options.integer("fetchOffset.retryIntervalMs", 100, least=0) or 0) / 1000,
        )

    @classmethod
    def to(cls, nameserver: str, given: Mapping[str, str] | None = None) -> Connect:
        """For what a job asks itself, with those options of its source or sink that are of a connection."""
        known = {name: value for name, value in (given or {}).items() if name in CONNECTION_OPTIONS}
        return cls.of(Options({**known, "nameserver": nameserver}, CONNECTION_OPTIONS))

    def open(self) -> BlockingCluster:
        keys = Credentials(self.access_key, self.secret_key, self.security_token) if self.access_key else None
        options = ClientOptions(
            self.nameservers,
            namespace=self.namespace,
            credentials=keys,
            ssl=self.tls.context() if self.tls else None,
            request_timeout=self.request_timeout,
        )
        return BlockingCluster(options, retries=self.retries, pause=self.retry_pause)

    def full_name(self, name: str) -> str:
        """A topic or group inside the namespace."""
        return with_namespace(self.namespace, name)


def _tls(options: Options) -> Tls | None:
    if not options.boolean("tls", False):
        options.refuse(("tlsCaFile", "tlsCertFile", "tlsKeyFile", "tlsKeyPassword"), "needs the option 'tls' true")
        return None
    return Tls(
        options.text("tlsCaFile"), options.text("tlsCertFile"), options.text("tlsKeyFile"),
        options.text("tlsKeyPassword") or "", options.boolean("tlsVerify", True),
        options.boolean("tlsCheckHostname", True),
    )  # fmt: skip
