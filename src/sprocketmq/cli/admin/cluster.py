"""`sprocket cluster`: who is there, and how they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sprocketmq.cli.cluster_options import cluster_options, json_option, run_client
from sprocketmq.cli.output.tables import Ratio, show
from sprocketmq.cli.output.watching import watch_option, watched

if TYPE_CHECKING:
    from sprocketmq.client.admin.brokers import BrokerStatus
    from sprocketmq.client.options import ClientOptions


@click.command()
@watch_option
@json_option
@cluster_options
@click.pass_context
def cluster(ctx: click.Context, /, options: ClientOptions, watch: float | None, as_json: bool) -> None:
    """Every broker of the cluster, and whether it answers; ends with 1 when one does not, or there is none."""

    async def fetch() -> list[BrokerStatus]:
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(options) as admin:
            return await admin.brokers.status()

    well = False

    def draw() -> None:
        nonlocal well
        found = run_client(fetch())
        show((_row(status) for status in found), as_json, empty="no broker has registered")
        well = bool(found) and not any(status.error for status in found)

    watched(draw, watch)
    ctx.exit(0 if well else 1)


def _ratio(text: str | None) -> Ratio | None:
    return None if text is None else Ratio(text)


def _row(status: BrokerStatus) -> dict[str, Any]:
    known = not status.error
    return {
        "cluster": status.cluster,
        "broker": status.name,
        "id": status.id,
        "address": status.address,
        "version": status.version,
        "in_per_second": status.rate("putTps") if known else None,
        "out_per_second": status.rate("getTransferredTps") if known else None,
        "disk": _ratio(status.runtime.get("commitLogDiskRatio")),
        "state": "up" if known else status.error,
    }
