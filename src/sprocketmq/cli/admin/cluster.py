"""`sprocket cluster`: who is there, how they are, and how far replicas are behind their masters."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from sprocketmq.cli.cluster_options import cluster_options, json_option, run_client
from sprocketmq.cli.output.tables import Ratio, show
from sprocketmq.cli.output.watch import watch_option, watched

if TYPE_CHECKING:
    from sprocketmq.client.admin import AdminClient
    from sprocketmq.client.admin.brokers import BrokerStatus
    from sprocketmq.client.options import ClientOptions


@click.command()
@watch_option
@json_option
@cluster_options
@click.pass_context
def cluster(ctx: click.Context, /, options: ClientOptions, watch: float | None, as_json: bool) -> None:
    """Every broker of the cluster, and whether it answers; ends with 1 when one does not, or there is none."""

    async def fetch() -> list[_BrokerSet]:
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(options) as admin:
            return await broker_sets(admin)

    well = False

    def draw() -> None:
        nonlocal well
        found = run_client(fetch())
        rows = ((each, status) for each in found for status in each.members)
        show((_row(*row) for row in rows), as_json, empty="no broker has registered")
        well = bool(found) and not any(status.error for each in found for status in each.members)

    watched(draw, watch)
    ctx.exit(0 if well else 1)


@dataclass(frozen=True, slots=True)
class _BrokerSet:
    """The brokers of one name, and what their master says of its replicas: None where it has none, or is gone."""

    members: list[BrokerStatus]
    in_sync: int | None = None
    epoch: int | None = None

    @property
    def master(self) -> BrokerStatus | None:
        return next((each for each in self.members if each.is_master), None)


async def broker_sets(admin: AdminClient) -> list[_BrokerSet]:
    names: dict[tuple[str, str], list[BrokerStatus]] = {}
    for status in await admin.brokers.status():
        names.setdefault((status.cluster, status.name), []).append(status)
    return list(await asyncio.gather(*(_broker_set(admin, members) for members in names.values())))


async def _broker_set(admin: AdminClient, members: list[BrokerStatus]) -> _BrokerSet:
    from sprocketmq.client.admin.core import if_known

    alone = _BrokerSet(members)
    if len(members) == 1 or alone.master is None or alone.master.error:
        return alone
    replication = await if_known(admin.brokers.replication(alone.master.address))
    epochs = await if_known(admin.brokers.epochs(alone.master.address))
    return _BrokerSet(
        members,
        None if replication is None else replication.in_sync_slave_nums,
        epochs.epoch_list[-1].epoch if epochs is not None and epochs.epoch_list else None,
    )


def _ratio(text: str | None) -> Ratio | None:
    return None if text is None else Ratio(text)


def _row(broker_set: _BrokerSet, status: BrokerStatus) -> dict[str, Any]:
    known, master = not status.error, status.is_master
    return {
        "cluster": status.cluster,
        "broker": status.name,
        "id": status.id,
        "address": status.address,
        "role": "master" if master else "slave",
        "epoch": broker_set.epoch,
        "slaves_in_sync": broker_set.in_sync if master else None,
        "bytes_behind": None if master else status.behind(broker_set.master),
        "version": status.version,
        "in_per_second": status.rate_in if known else None,
        "out_per_second": status.rate_out if known else None,
        "disk": _ratio(status.runtime.get("commitLogDiskRatio")),
        "state": "up" if known else status.error,
    }
