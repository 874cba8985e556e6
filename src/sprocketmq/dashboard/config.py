"""What an operator may set of a console."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sprocketmq.client.options import ClientOptions
from sprocketmq.errors import ConfigError


@dataclass(frozen=True, slots=True)
class ConsoleConfig:
    """Where it listens, which cluster it shows, and what may be done there.

    Without access control nobody can be told from anybody else: then a console is for this machine alone, and changes
    nothing unless `write` says so. With access control people sign in, and brokers decide what each of them may do.
    """

    options: ClientOptions
    host: str = "127.0.0.1"
    port: int = 8080
    write: bool = False
    #: Names by which the console is reached besides addresses; a page of another site must not be one of them.
    host_names: tuple[str, ...] = ()
    #: Store directories on this machine, for files and `verify`.
    stores: tuple[Path, ...] = ()
    #: Where reports and records of runs are kept.
    runs: Path | None = None
    #: How commands that are started here reach the cluster, as their environment: TLS, the profile, what else was told.
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.options.credentials is not None and not self.is_local:
            raise ConfigError(
                f"--host {self.host}: a console that has keys of its own listens on loopback only; "
                "without --access-key people sign in with theirs"
            )

    @property
    def is_local(self) -> bool:
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
