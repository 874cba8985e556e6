"""`sprocket up`: a nameserver and its brokers in one go.

One broker runs in this process, beside the nameserver. Several are processes of their own, one core each, under a
supervisor; the topic's queues are spread over them by the route, as over machines. With replicas, the processes are
those of one broker name: a controller, which runs in this process too, makes one of them the master.

    DATA/namesrv        what the nameserver keeps
    DATA/broker-a       the store of the first broker; broker-b and so on beside it
    DATA/broker-a-1     the store of the first replica; broker-a-2 and so on beside it
    DATA/controller     what the controller keeps
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import click

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.config import BrokerConfig
from sprocketmq.cli.serve.dashboard_process import DashboardProcess, dashboard_options
from sprocketmq.cli.serve.ports import PORT
from sprocketmq.cli.serve.serving import Service, serve, start_logging, warn_of_unknown_keys
from sprocketmq.cli.serve.supervisor import Child, Supervisor
from sprocketmq.config import from_properties, read_entries, settings_of
from sprocketmq.controller.config import ControllerConfig
from sprocketmq.controller.server import Controller
from sprocketmq.controller.wiring import make_controller
from sprocketmq.errors import ConfigError
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.nameserver.server import Nameserver
from sprocketmq.remoting.loop import run
from sprocketmq.remoting.tls import TlsConfig
from sprocketmq.store.config import StoreConfig

LOOPBACK = "127.0.0.1"
#: Between the ports of two brokers: each also takes the two below (VIP) and the one above (replication) its own.
PORT_STEP = 10
#: Of the first broker; the others follow in the same steps, past the nameserver's and the controller's.
METRICS_PORT = 5557
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class BrokerPlan:
    """One broker to run, as the entries of its configuration."""

    name: str
    entries: dict[str, str]
    #: The broker.conf that some of them are from: its secrets must not be seen in a list of processes.
    file: Path | None = None

    @property
    def argv(self) -> tuple[str, ...]:
        """The command of a process that runs it."""
        written = {} if self.file is None else read_entries(self.file)
        named = {key: value for key, value in self.entries.items() if written.get(key) != value}
        options = [part for key, value in named.items() for part in ("--set", f"{key}={value}")]
        config = () if self.file is None else ("--config", str(self.file))
        return (sys.executable, "-m", "sprocketmq", "broker", *config, *options)


#: Makes the service of a broker that runs in this process.
EmbedBroker = Callable[[BrokerPlan], Service]


def plan_brokers(
    data: Path, count: int, host: str, port: int, nameserver: str, more: dict[str, str]
) -> list[BrokerPlan]:
    """`count` brokers with names, directories and ports of their own; `more` is for all of them and wins."""
    if count > len(_LETTERS):
        raise ConfigError(f"--brokers {count}: expected at most {len(_LETTERS)}")
    return [
        BrokerPlan(name, _entries(data / name, name, host, port, at, nameserver) | more)
        for at, name in enumerate(f"broker-{letter}" for letter in _LETTERS[:count])
    ]


def plan_replicas(
    data: Path, count: int, host: str, port: int, nameserver: str, controller: str, more: dict[str, str]
) -> list[BrokerPlan]:
    """`count` replicas of one broker name, whose roles the controller gives."""
    led = {"enableControllerMode": "true", "controllerAddr": controller}
    return [
        BrokerPlan(
            f"broker-a-{at + 1}",
            _entries(data / f"broker-a-{at + 1}", "broker-a", host, port, at, nameserver) | led | more,
        )
        for at in range(count)
    ]


def _entries(store: Path, name: str, host: str, first_port: int, at: int, nameserver: str) -> dict[str, str]:
    """Of the broker that is `at` after the first. Where the first may have any port, so may the others."""
    port = first_port and first_port + at * PORT_STEP
    entries = {
        "brokerName": name,
        "namesrvAddr": nameserver,
        "bindAddress": host,
        "listenPort": str(port),
        "haListenPort": str(port and port + 1),
        "metricsPromExporterPort": str(METRICS_PORT + at * PORT_STEP),
        "storePathRootDir": str(store),
    }
    return entries | {"brokerIP1": LOOPBACK} if host == LOOPBACK else entries


class BrokerProcesses:
    """The brokers of `up` as one service: they are planned when the nameserver's port is known."""

    def __init__(self, plan: Callable[[], list[BrokerPlan]], embed: EmbedBroker) -> None:
        self._plan = plan
        self._embed = embed
        self._service: Service | None = None

    @property
    def name(self) -> str:
        assert self._service is not None
        return self._service.name

    @property
    def address(self) -> str:
        assert self._service is not None
        return self._service.address

    async def start(self) -> None:
        plans = self._plan()
        if len(plans) == 1:
            self._service = self._embed(plans[0])
        else:
            self._service = Supervisor([Child(plan.name, plan.argv) for plan in plans])
        await self._service.start()

    async def stop(self) -> None:
        if self._service is not None:
            await self._service.stop()


def make_command(embed: EmbedBroker) -> click.Command:
    """The `up` command, given the way to run a broker in this process."""

    @click.command()
    @click.option(
        "--data",
        type=click.Path(path_type=Path),
        default=Path("sprocket-data"),
        show_default=True,
        help="Directory for the data.",
    )
    @click.option(
        "--brokers",
        type=click.IntRange(1),
        default=1,
        show_default=True,
        help="How many brokers; each of several is a process of its own.",
    )
    @click.option(
        "--replicas",
        type=click.IntRange(1, 9),
        default=1,
        show_default=True,
        help="How many replicas of the broker, with a controller for failover.",
    )
    @click.option("--host", default=LOOPBACK, show_default=True, help="Address to listen on.")
    @click.option("--nameserver-port", type=PORT, default=9876, show_default=True)
    @click.option("--controller-port", type=PORT, default=9878, show_default=True)
    @click.option("--port", type=PORT, default=10911, show_default=True, help="Port of the first broker.")
    @click.option("-c", "--config", "file", type=click.Path(path_type=Path), help="A broker.conf for all brokers.")
    @click.option("--set", "options", multiple=True, metavar="KEY=VALUE", help="Any key of a broker.conf.")
    @dashboard_options
    def up(
        data: Path, brokers: int, replicas: int, host: str, nameserver_port: int, controller_port: int, port: int,
        file: Path | None, options: tuple[str, ...], dashboard_port: int, dashboard_write: bool,
    ) -> None:  # fmt: skip
        """Run a nameserver and brokers until SIGTERM."""
        more = read_entries(file, options)
        config = _nameserver_config(data, host, nameserver_port, more)
        start_logging(config, {})
        if brokers > 1 and replicas > 1:
            raise ConfigError("--brokers and --replicas: one of them at a time")
        if brokers == replicas == 1:  # those that are processes of their own warn themselves
            warn_of_unknown_keys(more, BrokerConfig, StoreConfig)
        nameserver = Nameserver(config)

        def plan() -> list[BrokerPlan]:
            address = f"{LOOPBACK if host == '0.0.0.0' else host}:{nameserver.port}"
            where = data.absolute()
            if controller is None:
                plans = plan_brokers(where, brokers, host, port, address, more)
            else:
                plans = plan_replicas(where, replicas, host, port, address, f"{LOOPBACK}:{controller.port}", more)
            return [replace(each, file=file) for each in plans]

        controller = _controller(data, controller_port, more) if replicas > 1 else None
        services: list[Service] = [nameserver, *([controller] if controller else []), BrokerProcesses(plan, embed)]
        run(serve(services, extra=DashboardProcess(dashboard_port, dashboard_write, plan)))

    return up


def _nameserver_config(data: Path, host: str, port: int, more: dict[str, str]) -> NameserverConfig:
    """Of `more` it takes the settings of TLS: clients speak it with nameservers and brokers alike, or with neither."""
    entries = {
        **{key: value for key, value in more.items() if key in settings_of(TlsConfig)},
        "bindAddress": host,
        "listenPort": str(port),
        "kvConfigPath": str(data / "namesrv" / "kvConfig.json"),
        "configStorePath": str(data / "namesrv" / "namesrv.properties"),
    }
    return from_properties(NameserverConfig, entries)


def _controller(data: Path, port: int, more: dict[str, str]) -> Controller:
    """On loopback: its brokers are on this machine."""
    entries = {
        **{key: value for key, value in more.items() if key in settings_of(TlsConfig)},
        "bindAddress": LOOPBACK,
        "listenPort": str(port),
        "controllerStorePath": str(data / "controller"),
        "configStorePath": str(data / "controller" / "controller.properties"),
    }
    return make_controller(from_properties(ControllerConfig, entries))


def embed_broker(plan: BrokerPlan) -> Broker:
    return Broker.from_entries(plan.entries)


up = make_command(embed_broker)
