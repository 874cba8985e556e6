"""`sprocket dashboard`: the console for a cluster, ours or Apache RocketMQ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sprocketmq import extras
from sprocketmq.cli.cluster_options import cluster_options, environment_of
from sprocketmq.cli.serve.ports import PORT

if TYPE_CHECKING:
    from sprocketmq.client.options import ClientOptions

PACKAGES = ("starlette", "jinja2", "uvicorn", "multipart", "itsdangerous")


def need_packages() -> None:
    for package in PACKAGES:
        extras.need("the console", package, "dashboard")


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=PORT, default=8080, show_default=True)
@click.option("--dashboard-write", "write", is_flag=True, help="Allow changes where nobody has to sign in.")
@click.option("--dashboard-name", "names", multiple=True, metavar="HOST", help="Reached by this name too.")
@click.option("--store", "stores", multiple=True, type=click.Path(path_type=Path), help="A store on this machine.")
@click.option("--runs", type=click.Path(path_type=Path), help="Where reports and records of jobs are kept.")
@cluster_options
def dashboard(
    options: ClientOptions, host: str, port: int, write: bool, names: tuple[str, ...], stores: tuple[Path, ...],
    runs: Path | None,
) -> None:  # fmt: skip
    """Serve the console until SIGTERM: topics, groups, messages, dead letters, stores, jobs."""
    need_packages()
    from sprocketmq import logs
    from sprocketmq.cli.serve.serving import serve
    from sprocketmq.dashboard.config import ConsoleConfig
    from sprocketmq.dashboard.server import DashboardServer
    from sprocketmq.remoting.loop import run

    logs.configure()
    told = environment_of(click.get_current_context())
    config = ConsoleConfig(options, host, port, write, names, tuple(store.absolute() for store in stores), runs, told)
    run(serve([DashboardServer(config)]))
