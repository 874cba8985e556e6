"""`sprocket replica`: the replicas of a broker set, as its controller sees them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from sprocketmq.cli.cluster_options import cluster_options, json_option, run_client
from sprocketmq.cli.output.confirm import confirm
from sprocketmq.cli.output.tables import say, show
from sprocketmq.cli.output.watch import watch_option, watched

if TYPE_CHECKING:
    from sprocketmq.client.admin import AdminClient
    from sprocketmq.client.admin.brokers import BrokerStatus
    from sprocketmq.client.options import ClientOptions
    from sprocketmq.protocol.bodies.controller import ReplicaIdentity, ReplicasInfo

_controllers = click.option(
    "--controller", "controllers", envvar="SPROCKET_CONTROLLER", default="127.0.0.1:9878", show_default=True,
    help="HOST:PORT of controllers, joined by `;`.",
)  # fmt: skip


@click.group()
def replica() -> None:
    """Replicas of broker sets: masters and what is in sync; elect and remove."""


@replica.command()
@click.argument("brokers", nargs=-1)
@_controllers
@watch_option
@json_option
@cluster_options
def status(
    options: ClientOptions, brokers: tuple[str, ...], controllers: str, watch: float | None, as_json: bool
) -> None:
    """Every replica of BROKERS, or of all that the nameserver knows: its role, who is in sync, lives, is behind."""

    async def fetch() -> list[dict[str, Any]]:
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(options) as admin:
            names = brokers or tuple({each.name for each in await admin.brokers.status()})
            leader = await admin.controllers.leader(controllers.split(";"))
            table = (await admin.controllers.replicas(leader, names)).replicas_info_table
            return [row for name in sorted(table) for row in await _rows(admin, name, table[name])]

    watched(
        lambda: show(run_client(fetch()), as_json, empty="no such set: a controller gives no broker its role"), watch
    )


@replica.command()
@click.argument("broker")
@click.argument("broker_id", type=int)
@click.option("--cluster", default="DefaultCluster", show_default=True)
@_controllers
@json_option
@cluster_options
def elect(options: ClientOptions, broker: str, broker_id: int, cluster: str, controllers: str, as_json: bool) -> None:
    """Make replica BROKER_ID of BROKER its master: it must live and be in sync."""

    async def change(admin: AdminClient, leader: str) -> dict[str, Any]:
        elected = await admin.controllers.elect(leader, cluster, broker, broker_id)
        return {
            "broker": broker,
            "id": elected.master_broker_id,
            "address": elected.master_address,
            "epoch": elected.master_epoch,
        }

    show([run_client(_at_leader(options, controllers, change))], as_json)


@replica.command()
@click.argument("broker")
@click.argument("broker_id", type=int)
@click.option("--cluster", default="DefaultCluster", show_default=True)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation; without a terminal there is no question.")
@_controllers
@json_option
@cluster_options
def remove(
    options: ClientOptions, broker: str, broker_id: int, cluster: str, yes: bool, controllers: str, as_json: bool
) -> None:
    """Forget replica BROKER_ID of BROKER, which will not come back."""
    if not yes:
        confirm(f"Forget replica {broker_id} of {broker}? Its id is not given again.")

    async def change(admin: AdminClient, leader: str) -> None:
        await admin.controllers.remove(leader, cluster, broker, broker_id)

    run_client(_at_leader(options, controllers, change))
    say({"broker": broker, "id": broker_id}, f"replica {broker_id} of {broker} is forgotten", as_json)


async def _at_leader(options: ClientOptions, controllers: str, change: Any) -> Any:
    from sprocketmq.client.admin import AdminClient

    async with AdminClient(options) as admin:
        return await change(admin, await admin.controllers.leader(controllers.split(";")))


async def _rows(admin: AdminClient, name: str, found: ReplicasInfo) -> list[dict[str, Any]]:
    replicas = sorted((*found.in_sync_replicas, *found.not_in_sync_replicas), key=lambda each: each.broker_id or 0)
    in_sync = {each.broker_id for each in found.in_sync_replicas}
    logs = await _statuses(admin, name, replicas)
    master = logs.get(found.master_broker_id)

    def row(each: ReplicaIdentity) -> dict[str, Any]:
        is_master, log = each.broker_id == found.master_broker_id, logs.get(each.broker_id)
        return {
            "broker": name,
            "id": each.broker_id,
            "address": each.broker_address,
            "role": "master" if is_master else "slave",
            "in_sync": each.broker_id in in_sync,
            "alive": each.alive,
            "epoch": found.master_epoch,
            "set_epoch": found.sync_state_set_epoch,
            "bytes_behind": None if is_master or log is None else log.behind(master),
        }

    return [row(each) for each in replicas]


async def _statuses(
    admin: AdminClient, name: str, replicas: Iterable[ReplicaIdentity]
) -> dict[int | None, BrokerStatus]:
    """What those that live say of themselves, by their ids."""
    asked = [each for each in replicas if each.alive]
    said = (admin.brokers.status_at(each.broker_address or "", "", name, each.broker_id or 0) for each in asked)
    return {each.broker_id: status for each, status in zip(asked, await asyncio.gather(*said), strict=True)}
