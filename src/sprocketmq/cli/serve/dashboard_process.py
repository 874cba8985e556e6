"""The console beside `sprocket up`: a process of its own, so that a page that is slow to make delays no broker.

Servers do not depend on it. Where its packages are missing or its port is taken, one line says so and they go on.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

import click

from sprocketmq.cli.serve.dashboard import need_packages
from sprocketmq.cli.serve.ports import PORT
from sprocketmq.cli.serve.supervisor import Child, Supervisor
from sprocketmq.config import from_properties
from sprocketmq.errors import MissingExtra, SprocketError
from sprocketmq.remoting.tls.config import TlsConfig, tls_settings

HOST = "127.0.0.1"

C = TypeVar("C", bound=Callable[..., None])


class Plan(Protocol):
    @property
    def entries(self) -> dict[str, str]: ...


def dashboard_options(command: C) -> C:
    port = click.option(
        "--dashboard-port", type=PORT, default=8080, show_default=True, help="Port of the console; 0 turns it off."
    )
    write = click.option("--dashboard-write", is_flag=True, help="Let the console change things.")
    return port(write(command))


class DashboardProcess:
    """Started when servers are ready; `plan` then tells their nameserver and their stores."""

    def __init__(self, port: int, write: bool, plan: Callable[[], Sequence[Plan]]) -> None:
        self._port, self._write, self._plan = port, write, plan
        self._supervisor: Supervisor | None = None
        self._starting: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Does not wait for it: servers are ready, and the console says so itself when it is."""
        if self._port == 0:
            return
        try:
            need_packages()
        except MissingExtra as missing:
            click.echo(f"no console: {missing}", err=True)
            return
        if _is_taken(self._port):
            click.echo(
                f"no console: another program listens on port {self._port}; --dashboard-port names another", err=True
            )
            return
        self._supervisor = Supervisor([Child("dashboard", self.argv())])
        self._starting = asyncio.ensure_future(self._started(self._supervisor))

    async def stop(self) -> None:
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        if self._supervisor is not None:
            await self._supervisor.stop()

    def argv(self) -> tuple[str, ...]:
        plans = self._plan()
        stores = [part for plan in plans for part in ("--store", plan.entries["storePathRootDir"])]
        write = ["--dashboard-write"] if self._write else []
        nameserver = plans[0].entries["namesrvAddr"]
        tls = tls_options(plans[0].entries)
        options = ("-n", nameserver, "--host", HOST, "--port", str(self._port), *tls, *write, *stores)
        return (sys.executable, "-m", "sprocketmq", "dashboard", *options)

    async def _started(self, supervisor: Supervisor) -> None:
        try:
            await supervisor.start()
        except (SprocketError, OSError) as error:
            self._supervisor = None
            click.echo(f"no console: {error}", err=True)


def _is_taken(port: int) -> bool:
    try:
        socket.create_server((HOST, port)).close()
    except OSError:
        return True
    return False


def tls_options(entries: Mapping[str, str]) -> list[str]:
    """The console calls as the brokers do: over TLS when `tls.enable` says so."""
    config = tls_settings(from_properties(TlsConfig, entries))
    if not config.tls_enable:
        return []
    verify = config.tls_client_auth_server and not config.tls_test_mode_enable
    files = {
        "--tls-ca": config.tls_client_trust_cert_path or config.tls_server_trust_cert_path,
        "--tls-cert": config.tls_client_cert_path,
        "--tls-key": config.tls_client_key_path,
    }
    options = ["--tls", *(part for option, file in files.items() if file for part in (option, file))]
    options += [] if verify else ["--tls-no-verify"]
    return options if config.tls_client_check_host_name else [*options, "--tls-no-check-hostname"]
