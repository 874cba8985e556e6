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
from sprocketmq.cli.serve.ports import taken
from sprocketmq.cli.serve.systemd import Notifier
from sprocketmq.config import settings_of, unknown_keys
from sprocketmq.errors import SprocketError
from sprocketmq.logs import Events
from sprocketmq.remoting.config import LogFormat, ServerConfig

events = Events("sprocketmq.cli.serving")

READY = " ready on "

#: Names a descriptor that ends when the supervisor does, however it dies; a child then stops as on SIGTERM.
SUPERVISOR_FD = "SPROCKETMQ_SUPERVISOR_FD"
#: What the supervisor calls this process: its lines are told from those of its siblings on the same screen.
PROCESS_NAME = "SPROCKETMQ_PROCESS_NAME"


class Service(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def address(self) -> str: ...

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


class Companion(Protocol):
    """What runs beside services and may fail without them: it says what it has to say itself."""

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


async def serve(
    services: Sequence[Service], warn: Callable[[], None] | None = None, extra: Companion | None = None
) -> None:
    """Until a signal; `warn` is called when all of them have started, and `extra` is started then."""
    raise_file_limit()
    stop = asyncio.Event()
    _stop_on_signals(stop)
    started: list[Service] = []
    with Notifier() as systemd:
        try:
            for service in services:
                await _start(service)
                started.append(service)
                click.echo(f"{service.name}{READY}{service.address}")
            if warn is not None:
                warn()
            systemd.ready(", ".join(service.name for service in services))
            if extra is not None:
                await extra.start()
            await stop.wait()
        finally:
            systemd.stopping()
            if extra is not None:
                await extra.stop()
            for service in reversed(started):
                await service.stop()


async def _start(service: Service) -> None:
    try:
        await service.start()
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise SprocketError(taken(error)) from None


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
    logs.configure(
        path, config.log_level.value, max_bytes=config.log_file_max_bytes, backups=config.log_file_count,
        as_json=config.log_format is LogFormat.JSON, process=os.environ.get(PROCESS_NAME, ""),
    )  # fmt: skip
    warn_of_unknown_keys(entries, *tables)


def warn_of_unknown_keys(entries: Mapping[str, str], *tables: type) -> None:
    known = [key for table in tables for key in settings_of(table)]
    for key in unknown_keys(entries, *tables):
        meant = nearest(key, known)
        events.warning("unknown configuration key", key=key, **({} if meant is None else {"did_you_mean": meant}))
