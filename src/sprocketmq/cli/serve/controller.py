"""`sprocket controller`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from sprocketmq.cli.serve.ports import PORT
from sprocketmq.cli.serve.serving import events, serve, start_logging
from sprocketmq.config import from_properties, read_entries
from sprocketmq.controller.config import MEANINGLESS, ControllerConfig
from sprocketmq.controller.wiring import make_controller
from sprocketmq.remoting.loop import run


@click.command()
@click.option("-c", "--config", "file", type=click.Path(path_type=Path), help="A controller.conf, as RocketMQ's.")
@click.option("--host", help="Address to listen on (bindAddress).")
@click.option("--port", type=PORT, help="Port to listen on (listenPort).")
@click.option("--data", type=click.Path(path_type=Path), help="Directory for the state; ~/controller by default.")
@click.option("--set", "options", multiple=True, metavar="KEY=VALUE", help="Any key of the file; overrides it.")
def controller(
    file: Path | None, host: str | None, port: int | None, data: Path | None, options: tuple[str, ...]
) -> None:
    """Run a controller until SIGTERM: it elects masters and keeps the in-sync sets."""
    entries = read_entries(file, [*_named_options(host, port, data), *options])
    config = from_properties(ControllerConfig, entries)
    known = {key: value for key, value in entries.items() if key not in MEANINGLESS}
    start_logging(config, known, ControllerConfig)
    _warn_of_meaningless_keys(entries)
    run(serve([make_controller(config)]))


def _warn_of_meaningless_keys(entries: Mapping[str, str]) -> None:
    for key in entries:
        if key in MEANINGLESS:
            events.warning("configuration key without meaning here", key=key, reason=MEANINGLESS[key])


def _named_options(host: str | None, port: int | None, data: Path | None) -> list[str]:
    named = {
        "bindAddress": host,
        "listenPort": port,
        "controllerStorePath": data,
        "configStorePath": None if data is None else data / "controller.properties",
    }
    return [f"{key}={value}" for key, value in named.items() if value is not None]
