"""`sprocket broker status|config|producers|writing`: a running broker's figures and settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sprocketmq.cli.cluster_options import cluster_options, json_option, run_client
from sprocketmq.cli.completion import BROKER, CONFIG_KEY
from sprocketmq.cli.name_check import known_broker
from sprocketmq.cli.nearest import did_you_mean
from sprocketmq.cli.output.broker_summary import summary
from sprocketmq.cli.output.tables import figures, number, show, show_one
from sprocketmq.errors import ConfigError

if TYPE_CHECKING:
    from sprocketmq.client.options import ClientOptions


@click.command()
@click.argument("name", type=BROKER)
@click.option("--all", "everything", is_flag=True, help="Every figure, under RocketMQ's names.")
@json_option
@cluster_options
def status(options: ClientOptions, name: str, everything: bool, as_json: bool) -> None:
    """How the broker NAME (or HOST:PORT) is; --all or --json for everything it says of itself."""

    async def fetch() -> dict[str, str]:
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(options) as admin:
            await known_broker(admin, name)
            return await admin.brokers.runtime(name)

    said = run_client(fetch())
    if everything or as_json:
        show_one({key: figures(said[key]) for key in sorted(said)}, as_json, names=str)
    else:
        show_one(summary(said), False)


@click.command()
@click.argument("name", required=False, type=BROKER)
@click.argument("key", required=False, type=CONFIG_KEY)
@click.argument("value", required=False)
@click.option("--explain", metavar="KEY|all", type=CONFIG_KEY, help="What a key means, its default and its bounds.")
@json_option
@cluster_options
def config(
    options: ClientOptions, name: str | None, key: str | None, value: str | None, explain: str | None, as_json: bool
) -> None:
    """Show the settings of NAME, or one KEY, or set KEY to VALUE while it runs."""
    if explain is not None:
        _explain(explain, as_json)
        return
    if name is None:
        raise click.UsageError("Missing argument 'NAME'")

    async def fetch() -> dict[str, str]:
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(options) as admin:
            await known_broker(admin, name)
            settings = await admin.brokers.config(name)
            if key is not None and key not in settings:
                meant = did_you_mean(key, settings)
                hint = f"`sprocket broker config {name}` shows them all"
                raise ConfigError(f"broker {name} has no setting {key}{meant or '.'} {hint}")
            if key is not None and value is not None:
                await admin.brokers.set_config(name, key, value)
                settings = await admin.brokers.config(name)
            return settings

    settings = run_client(fetch())
    shown = settings if key is None else {key: settings[key]}
    show_one({each: number(shown[each]) if as_json else shown[each] for each in sorted(shown)}, as_json, names=str)


def _explain(key: str, as_json: bool) -> None:
    from sprocketmq.cli.output.config_help import broker_settings, explain

    if key != "all":
        show_one(explain(key), as_json)
    elif as_json:
        show([explain(each) for each in sorted(broker_settings())], True)
    else:
        show_one({each: row.doc for each, row in sorted(broker_settings().items())}, False, names=str)


@click.command()
@click.argument("name", type=BROKER)
@json_option
@cluster_options
def producers(options: ClientOptions, name: str, as_json: bool) -> None:
    """The producers that are connected to NAME."""

    async def fetch() -> list[dict[str, Any]]:
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(options) as admin:
            await known_broker(admin, name)
            table = (await admin.brokers.producers(name)).data
        return [
            {"group": group, "client": info.client_id, "address": (info.remote_ip or "").removeprefix("/")}
            for group, infos in sorted(table.items())
            for info in infos
        ]

    show(run_client(fetch()), as_json, empty="no producer is connected")


@click.command()
@click.argument("name", type=BROKER)
@click.option("--allow/--forbid", default=None, help="Route producers to it again, or stop routing them.")
@json_option
@cluster_options
def writing(options: ClientOptions, name: str, allow: bool | None, as_json: bool) -> None:
    """Show whether producers are routed to NAME; --forbid keeps them away, which is the way to retire a broker."""

    async def change_or_count() -> tuple[int, int]:
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(options) as admin:
            await known_broker(admin, name)
            if allow is not None:
                await (admin.brokers.add_write_perm(name) if allow else admin.brokers.wipe_write_perm(name))
            return await admin.topics.writable(name)

    writable, topics = run_client(change_or_count())
    if as_json:
        show_one({"broker": name, "writable_topics": writable, "topics": topics}, True)
    elif allow is not None:
        click.echo(f"producers are {'routed to' if allow else 'kept away from'} {name}")
    else:
        state = "routed to" if writable else "kept away from"
        click.echo(f"producers are {state} {name}: {writable} of {topics} topics can be written")


COMMANDS = (status, config, producers, writing)
