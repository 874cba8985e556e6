"""`sprocket broker`: run one, or look at one that runs."""

from __future__ import annotations

from pathlib import Path

import click

from sprocketmq.cli.admin import broker as broker_admin
from sprocketmq.cli.serve.ports import PORT
from sprocketmq.extras import need_linux


@click.group(invoke_without_command=True)
@click.option("-c", "--config", "file", type=click.Path(path_type=Path), help="A broker.conf, as RocketMQ's.")
@click.option("-n", "--nameserver", "nameservers", envvar="NAMESRV_ADDR", help="HOST:PORT, several separated by ';'.")
@click.option("--data", type=click.Path(path_type=Path), help="Store directory (storePathRootDir).")
@click.option("--port", type=PORT, help="Port to listen on (listenPort).")
@click.option("--set", "options", multiple=True, metavar="KEY=VALUE", help="Any key of the file; overrides it.")
@click.pass_context
def broker(
    context: click.Context, file: Path | None, nameservers: str | None, data: Path | None, port: int | None,
    options: tuple[str, ...],
) -> None:  # fmt: skip
    """Run a broker until SIGTERM; with a command, ask or change one that runs."""
    if context.invoked_subcommand is not None:
        return
    named = {"namesrvAddr": nameservers, "storePathRootDir": data, "listenPort": port}
    _run(file, [*(f"{key}={value}" for key, value in named.items() if value is not None), *options])


def _run(file: Path | None, options: list[str]) -> None:
    need_linux("a broker")
    from sprocketmq.broker.broker import Broker
    from sprocketmq.broker.config import BrokerConfig
    from sprocketmq.cli.serve.serving import serve, start_logging
    from sprocketmq.config import read_entries
    from sprocketmq.remoting.loop import run
    from sprocketmq.store.config import StoreConfig

    entries = read_entries(file, options)
    service = Broker.from_entries(entries)
    start_logging(service.settings.current, entries, BrokerConfig, StoreConfig)
    run(serve([service], None if service.settings.current.namesrv_addr else _warn_of_no_nameserver))


def _warn_of_no_nameserver() -> None:
    from sprocketmq.cli.serve.serving import events

    events.warning("no nameserver is configured: clients cannot find this broker", try_option="--nameserver HOST:PORT")


for command in broker_admin.COMMANDS:
    broker.add_command(command)
