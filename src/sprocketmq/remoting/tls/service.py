"""The TLS of one server process: what it shows and believes, kept up with its files.

`TlsService.of(config)` gives both ways of it:

    server      for its listening sockets, or None when it speaks no TLS: RemotingServer(tls=...)
    calling     the context of its own calls, or None when those are plain: RemotingClient(ssl=tls.calling)

A file that changes is read anew within a second, for connections that come after; those that are there go on. Files
that do not fit (a certificate without its key yet) leave what was there, and a line in the log.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path

from sprocketmq.errors import ConfigError, SprocketError
from sprocketmq.logs import Events
from sprocketmq.remoting.tls.config import TlsConfig, TlsMode, tls_settings
from sprocketmq.remoting.tls.contexts import configured_client, configured_server

events = Events("sprocketmq.remoting.tls")

#: Between two looks at the files.
LOOK_SECONDS = 1.0

_Stamp = tuple[tuple[int, int, int] | None, ...]


class Watched:
    """A context, and the files that it was made of."""

    def __init__(self, what: str, make: Callable[[], ssl.SSLContext], *files: str) -> None:
        self._what, self._make = what, make
        self._files = tuple(Path(file).expanduser() for file in files if file)
        self._stamp = self._look()
        self.context = make()

    def refresh(self) -> None:
        """Read the files anew when one of them has changed."""
        stamp = self._look()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self.context = self._make()
        except SprocketError as error:
            events.warning("certificates not reloaded", of=self._what, reason=error)
        else:
            events.info("certificates reloaded", of=self._what)

    def _look(self) -> _Stamp:
        return tuple(map(_stamp, self._files))


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class ServerTls:
    """What a listening socket needs to know."""

    def __init__(self, mode: TlsMode, watched: Watched) -> None:
        self.mode = mode
        self._watched = watched

    @property
    def context(self) -> ssl.SSLContext:
        return self._watched.context


class TlsService:
    """The contexts of one process, both ways."""

    def __init__(self, config: TlsConfig) -> None:
        self._server = _server(config)
        self._client = _client(config)
        self.server = None if self._server is None else ServerTls(config.tls_server_mode, self._server)
        self._timer: asyncio.TimerHandle | None = None

    @classmethod
    def of(cls, config: TlsConfig) -> TlsService:
        """ConfigError names the key and the file that cannot be used."""
        return cls(tls_settings(config))

    def calling(self) -> ssl.SSLContext | None:
        """For connections to nameservers, brokers, controllers and masters; asked for each anew."""
        return None if self._client is None else self._client.context

    def start(self) -> None:
        """Begin to look at the files."""
        watched = [each for each in (self._server, self._client) if each is not None]
        if watched:
            for each in watched:
                each.refresh()
            self._timer = asyncio.get_running_loop().call_later(LOOK_SECONDS, self.start)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _server(config: TlsConfig) -> Watched | None:
    has_files = config.tls_server_cert_path or config.tls_test_mode_enable
    if config.tls_server_mode is TlsMode.disabled or (config.tls_server_mode is TlsMode.permissive and not has_files):
        return None
    if not has_files:
        raise ConfigError("tls.server.mode=enforcing: needs tls.server.certPath and tls.server.keyPath")
    files = config.tls_server_cert_path, config.tls_server_key_path, config.tls_server_trust_cert_path
    return Watched("server", lambda: configured_server(config), *files)


def _client(config: TlsConfig) -> Watched | None:
    if not config.tls_enable:
        return None
    trust = config.tls_client_trust_cert_path or config.tls_server_trust_cert_path
    return Watched("client", lambda: configured_client(config), config.tls_client_cert_path,
                   config.tls_client_key_path, trust)  # fmt: skip
