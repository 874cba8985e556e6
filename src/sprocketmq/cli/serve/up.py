"""`sprocket up`: a nameserver and its brokers in one go.

One broker runs in this process, beside the nameserver. Several are processes of their own, one core each, under a
supervisor; the topic's queues are spread over them by the route, as over machines.

    DATA/namesrv        what the nameserver keeps
    DATA/broker-a       the store of the first broker; broker-b and so on beside it
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.config import BrokerConfig
from sprocketmq.cli.serve.serving import Service, serve, start_logging, warn_of_unknown_keys
from sprocketmq.cli.serve.supervisor import Child, Supervisor
from sprocketmq.config import from_properties, read_entries
from sprocketmq.errors import ConfigError
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.nameserver.server import Nameserver
from sprocketmq.remoting.loop import run
from sprocketmq.store.config import StoreConfig

LOOPBACK = "127.0.0.1"
#: Between the ports of two brokers: each also takes the two below (VIP) and the one above (replication) its own.
PORT_STEP = 10
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class BrokerPlan:
    """One broker to run, as the entries of its configuration."""

    name: str
    entries: dict[str, str]

    @property
    def argv(self) -> tuple[str, ...]:
        """The command of a process that runs it."""
        options = [part for key, value in self.entries.items() for part in ("--set", f"{key}={value}")]
        return (sys.executable, "-m", "sprocketmq", "broker", *options)


#: Makes the service of a broker that runs in this process.
EmbedBroker = Callable[[BrokerPlan], Service]


def plan_brokers(
    data: Path, count: int, host: str, port: int, nameserver: str, more: dict[str, str]
) -> list[BrokerPlan]:
    """`count` brokers with names, directories and ports of their own; `more` is for all of them and wins."""
    if count > len(_LETTERS):
        raise ConfigError(f"--brokers {count}: expected at most {len(_LETTERS)}")
    return [
        BrokerPlan(name, _entries(data / name, name, host, port + at * PORT_STEP, nameserver) | more)
        for at, name in enumerate(f"broker-{letter}" for letter in _LETTERS[:count])
    ]


def _entries(store: Path, name: str, host: str, port: int, nameserver: str) -> dict[str, str]:
    entries = {
        "brokerName": name,
        "namesrvAddr": nameserver,
        "bindAddress": host,
        "listenPort": str(port),
        "haListenPort": str(port + 1),
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
    @click.option("--data", type=click.Path(path_type=Path), default=Path("sprocket-data"), show_default=True)
    @click.option(
        "--brokers", type=click.IntRange(1), default=1, show_default=True, help="One process each when several."
    )
    @click.option("--host", default=LOOPBACK, show_default=True, help="Address to listen on.")
    @click.option("--nameserver-port", type=int, default=9876, show_default=True)
    @click.option("--port", type=int, default=10911, show_default=True, help="Port of the first broker.")
    @click.option("--set", "options", multiple=True, metavar="KEY=VALUE", help="Any key of a broker.conf.")
    def up(data: Path, brokers: int, host: str, nameserver_port: int, port: int, options: tuple[str, ...]) -> None:
        """Run a nameserver and brokers until SIGTERM."""
        more = read_entries(None, options)
        config = _nameserver_config(data, host, nameserver_port)
        start_logging(config, {})
        if brokers == 1:  # those that are processes of their own warn themselves
            warn_of_unknown_keys(more, BrokerConfig, StoreConfig)
        nameserver = Nameserver(config)

        def plan() -> list[BrokerPlan]:
            address = f"{LOOPBACK if host == '0.0.0.0' else host}:{nameserver.port}"
            return plan_brokers(data.absolute(), brokers, host, port, address, more)

        run(serve([nameserver, BrokerProcesses(plan, embed)]))

    return up


def _nameserver_config(data: Path, host: str, port: int) -> NameserverConfig:
    entries = {
        "bindAddress": host,
        "listenPort": str(port),
        "kvConfigPath": str(data / "namesrv" / "kvConfig.json"),
        "configStorePath": str(data / "namesrv" / "namesrv.properties"),
    }
    return from_properties(NameserverConfig, entries)


def embed_broker(plan: BrokerPlan) -> Broker:
    return Broker.from_entries(plan.entries)


up = make_command(embed_broker)
