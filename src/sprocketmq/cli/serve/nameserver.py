"""`sprocket nameserver`."""

from __future__ import annotations

from pathlib import Path

import click

from sprocketmq.cli.serve.ports import PORT
from sprocketmq.cli.serve.serving import serve, start_logging
from sprocketmq.config import from_properties, read_entries
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.nameserver.server import Nameserver
from sprocketmq.remoting.loop import run


@click.command()
@click.option("-c", "--config", "file", type=click.Path(path_type=Path), help="A namesrv.conf, as RocketMQ's.")
@click.option("--host", help="Address to listen on (bindAddress).")
@click.option("--port", type=PORT, help="Port to listen on (listenPort).")
@click.option("--data", type=click.Path(path_type=Path), help="Directory for the state; ~/namesrv by default.")
@click.option("--set", "options", multiple=True, metavar="KEY=VALUE", help="Any key of the file; overrides it.")
def nameserver(
    file: Path | None, host: str | None, port: int | None, data: Path | None, options: tuple[str, ...]
) -> None:
    """Run a nameserver until SIGTERM."""
    entries = read_entries(file, [*_named_options(host, port, data), *options])
    config = from_properties(NameserverConfig, entries)
    start_logging(config, entries, NameserverConfig)
    run(serve([Nameserver(config)]))


def _named_options(host: str | None, port: int | None, data: Path | None) -> list[str]:
    named = {
        "bindAddress": host,
        "listenPort": port,
        "kvConfigPath": None if data is None else data / "kvConfig.json",
        "configStorePath": None if data is None else data / "namesrv.properties",
    }
    return [f"{key}={value}" for key, value in named.items() if value is not None]
