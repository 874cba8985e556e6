"""Runs services until a signal asks them to stop: what `nameserver`, `broker` and `up` share.

A service that has started is announced by one line on stdout, `NAME ready on HOST:PORT`; a supervisor and a script wait
for it. SIGTERM and SIGINT stop the services cleanly, the last started first.
"""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import click

from sprocketmq import logs
from sprocketmq.cli.nearest import nearest
from sprocketmq.config import settings_of, unknown_keys
from sprocketmq.errors import SprocketError
from sprocketmq.logs import Events
from sprocketmq.remoting.config import ServerConfig

events = Events("sprocketmq.cli.serving")

READY = " ready on "

#: Names a descriptor that ends when the supervisor does, however it dies; a child then stops as on SIGTERM.
SUPERVISOR_FD = "SPROCKETMQ_SUPERVISOR_FD"


class Service(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def address(self) -> str: ...

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


async def serve(services: Sequence[Service], warn: Callable[[], None] | None = None) -> None:
    """Until a signal; `warn` is called when all of them have started."""
    raise_file_limit()
    stop = asyncio.Event()
    _stop_on_signals(stop)
    started: list[Service] = []
    try:
        for service in services:
            await _start(service)
            started.append(service)
            click.echo(f"{service.name}{READY}{service.address}")
        if warn is not None:
            warn()
        await stop.wait()
    finally:
        for service in reversed(started):
            await service.stop()


async def _start(service: Service) -> None:
    try:
        await service.start()
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise SprocketError(
            f"{error.strerror or error}: another program listens there, perhaps a server that still runs; "
            "--port and --nameserver-port choose others"
        ) from None


def raise_file_limit() -> None:
    """Allow as many open files as an unprivileged process may have: connections and mapped files need them."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _stop_on_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if (text := os.environ.get(SUPERVISOR_FD, "")).isdecimal():
        fd = int(text)

        def supervisor_gone() -> None:
            loop.remove_reader(fd)
            stop.set()

        loop.add_reader(fd, supervisor_gone)


def start_logging(config: ServerConfig, entries: Mapping[str, str], *tables: type) -> None:
    """Open the log, and say which keys of the configuration nobody knows: a typing error must not pass in silence."""
    path = Path(config.log_file).expanduser() if config.log_file else None
    logs.configure(path, config.log_level.value, max_bytes=config.log_file_max_bytes, backups=config.log_file_count)
    warn_of_unknown_keys(entries, *tables)


def warn_of_unknown_keys(entries: Mapping[str, str], *tables: type) -> None:
    known = [key for table in tables for key in settings_of(table)]
    for key in unknown_keys(entries, *tables):
        meant = nearest(key, known)
        events.warning("unknown configuration key", key=key, **({} if meant is None else {"did_you_mean": meant}))
