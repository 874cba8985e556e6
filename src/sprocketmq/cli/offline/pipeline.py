"""`sprocket pipeline`: jobs on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sprocketmq.cli.cluster_options import connection_options, spark_options_of
from sprocketmq.cli.output.store_json import for_programs
from sprocketmq.cli.output.tables import echo_json, print_table, show, show_one
from sprocketmq.cli.output.times import Moment
from sprocketmq.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sprocketmq.spark.pipeline.inputs import Input

Command = Callable[..., None]


@click.group()
def pipeline() -> None:
    """Jobs on Spark over topics, stores and archives."""
    if not all(_is_installed(package) for package in ("pyspark", "py4j", "pyarrow")):
        raise ConfigError("Spark is not installed: pip install 'sprocketmq[spark]'")


def _is_installed(package: str) -> bool:
    from importlib.util import find_spec

    try:
        return find_spec(package) is not None
    except ValueError:  # imported, but not by a finder
        return False


def spark_options(command: Command) -> Command:
    options = [
        click.option("--master", help="Spark's master.  [default: local[*]]"),
        click.option("--packages", help="Maven coordinates that Spark loads, such as Delta's."),
        click.option("--conf", "confs", multiple=True, metavar="KEY=VALUE", help="Any setting of Spark."),
        click.option("--json", "as_json", is_flag=True, help="JSON instead of text."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def input_options(command: Command) -> Command:
    options = [
        click.option("--nameserver", "-n", help="Read topics of this cluster: HOST:PORT."),
        click.option("--store", help="Read this store directory; no broker needed."),
        click.option("--archive", "from_archive", help="Read this archive."),
        click.option("--topic", "-t", "topics", multiple=True, help="Only this topic; may be repeated."),
        click.option("--tag", "tags", multiple=True, help="Only this tag; may be repeated."),
        click.option("--from-time", type=Moment(), help="Stored at this time or later."),
        click.option("--to-time", type=Moment(), help="Stored before this time."),
    ]
    for option in reversed(options):
        command = option(command)
    return connection_options(command)


@contextmanager
def session(options: dict[str, Any], what: str, kind: str = "parquet", target: str = "") -> Iterator[SparkSession]:
    """A Spark session for one command, a spinner while it works, and Spark's errors as one line.

    The run is written down for the console; one that only looks has no `target` and is not.
    """
    from rich.console import Console

    from sprocketmq.job_records import recorded
    from sprocketmq.spark.pipeline import clean_errors, open_session

    conf = dict(_pair(text) for text in options.pop("confs"))
    console = Console(stderr=True)
    name = click.get_current_context().info_name or what
    record = recorded(name, _absolute(target), _source(options)) if target else nullcontext()
    with record, console.status(f"{what}: starting Spark") as status, clean_errors():
        spark = open_session("sprocket pipeline", options.pop("master"), conf, options.pop("packages"), kind)
        try:
            status.update(what)
            yield spark
        finally:
            spark.stop()


def _pair(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator:
        raise ConfigError(f"--conf {text}: expected KEY=VALUE")
    return key, value


def _source(options: dict[str, Any]) -> str:
    given = ("nameserver", "store", "from_archive")
    return next((str(options[name]) for name in given if options.get(name)), "")


def _absolute(target: str) -> str:
    """A folder of this machine as the console finds it; a URL or a topic as it is."""
    return target if "://" in target else str(Path(target).absolute())


def source_of(options: dict[str, Any]) -> Input:
    from sprocketmq.spark.pipeline.inputs import Input

    nameserver, connecting = options.pop("nameserver"), options.pop("connecting")
    return Input(
        nameserver, options.pop("store"), options.pop("from_archive"), options.pop("topics"), options.pop("tags"),
        options.pop("from_time"), options.pop("to_time"), spark_options_of(connecting) if nameserver else {},
    )  # fmt: skip


@pipeline.command()
@click.argument("target")
@input_options
@click.option("--format", "kind", default="parquet", show_default=True, help="parquet, or a Spark format: delta...")
@click.option("--max-offsets", type=click.IntRange(min=1), help="Messages per batch.")
@click.option("--no-compact", is_flag=True, help="Leave small files as they are.")
@spark_options
def archive(target: str, kind: str, max_offsets: int | None, no_compact: bool, as_json: bool, **options: Any) -> None:
    """Add what is new in topics or a store to the archive TARGET, by topic and date."""
    from sprocketmq.spark.pipeline import archive as run

    with session(options, "archiving", kind, target) as spark:
        done = run(spark, source_of(options), target, format=kind, max_offsets=max_offsets, compact=not no_compact)
    show_one(asdict(done), as_json)


@pipeline.command()
@click.argument("topic")
@click.option("--to", "to_nameserver", required=True, metavar="HOST:PORT", help="The cluster to send to.")
@input_options
@click.option("--where", help="SQL over the columns of a message.")
@click.option("--rate", type=click.IntRange(min=1), help="Messages per second, at most.")
@click.option("--dry-run", is_flag=True, help="Count, and send nothing.")
@spark_options
def replay(
    topic: str, to_nameserver: str, where: str | None, rate: int | None, dry_run: bool, as_json: bool, **options: Any
) -> None:
    """Send messages of an archive, a store or a topic again, to TOPIC, in the order of their queues."""
    from sprocketmq.spark.pipeline import replay as run

    with session(options, "replaying") as spark:
        keys = spark_options_of(options["connecting"])  # of both clusters, where messages come from one
        source = source_of(options)
        done = run(
            spark, source, to_nameserver, topic, where=where, rows_per_second=rate, dry_run=dry_run, options=keys
        )
    if as_json:
        echo_json(asdict(done))
        return
    show([{"topic": name, "messages": count} for name, count in sorted(done.by_topic.items())], False)
    click.echo(f"{done.rows} messages {'would be sent' if dry_run else 'sent'} to {topic}")


@pipeline.command()
@input_options
@click.option("--group", help="Check what this group consumed, against what was sent (needs the trace topic).")
@spark_options
@click.pass_context
def audit(ctx: click.Context, /, group: str | None, as_json: bool, **options: Any) -> None:
    """Check every record, queue entry and index entry of a store; with --group, find losses and duplicates."""
    from sprocketmq.protocol.names import TRACE_TOPIC
    from sprocketmq.spark.pipeline import audit_delivery, audit_store

    with session(options, "auditing") as spark:
        source = source_of(options)
        if group is not None:
            from dataclasses import replace

            trace = replace(source, topics=(TRACE_TOPIC,), tags=()).load(spark)
            found = audit_delivery(source.load(spark), trace, group)
            show_one(asdict(found), as_json)
            ctx.exit(1 if found.lost or found.duplicates else 0)
        if source.store is None:
            raise ConfigError("audit checks a --store, or what a --group consumed")
        checked = audit_store(spark, source.store)
    if as_json:
        echo_json({**asdict(checked), "ok": checked.ok})
    else:
        for finding in checked.findings:
            click.echo(f"{finding.severity}: {finding}")
        counted = (
            f"{checked.records} records, {checked.queue_entries} queue entries, {checked.index_entries} index entries"
        )
        click.echo(f"{counted}: {len(checked.findings)} findings")
    ctx.exit(0 if checked.ok else 1)


@pipeline.command()
@click.argument("directory", metavar="DIR")
@spark_options
def rebuild(directory: str, as_json: bool, **options: Any) -> None:
    """Write queues and index of the store DIR anew from its log, read in parallel. No broker may be running on it."""
    from sprocketmq.spark.pipeline import rebuild as run

    with session(options, "rebuilding", target=directory) as spark:
        done = run(spark, directory)
    row = for_programs(done.row())
    show_one({name: value for name, value in row.items() if as_json or name != "findings"}, as_json)


@pipeline.command()
@click.argument("target")
@input_options
@click.option("--group", "groups", multiple=True, help="Show this group's lag; may be repeated.")
@click.option("--title", default="Messages", show_default=True)
@spark_options
def report(target: str, groups: tuple[str, ...], title: str, as_json: bool, **options: Any) -> None:
    """Throughput, sizes, latency, lag, hot keys and failures: a page and Parquet files in TARGET."""
    from sprocketmq.spark.pipeline import report as run

    with session(options, "reporting", target=target) as spark:
        found = run(spark, source_of(options), target, groups=groups, title=title)
    if as_json:
        echo_json(found.tables)
        return
    for name in ("topics", "latency", "lag", "hot_keys", "failures"):
        if rows := found.tables[name]:
            click.echo(f"\n{name.replace('_', ' ')}")
            show(rows, False)
    click.echo(f"\n{target}/index.html")


@pipeline.command()
@click.argument("sql")
@click.option("--nameserver", "-n", help="Query topics of this cluster: HOST:PORT.")
@click.option("--store", help="Query this store directory.")
@click.option("--archive", help="Query this archive.")
@click.option("--limit", type=click.IntRange(min=1), default=1000, show_default=True, help="Rows to show.")
@connection_options
@spark_options
def query(sql: str, limit: int, as_json: bool, connecting: dict[str, Any], **options: Any) -> None:
    """Run SQL in which every topic is a table, and `messages` is a whole store."""
    from sprocketmq.spark.pipeline import query as run

    with session(options, "querying") as spark:
        given = spark_options_of(connecting) if options["nameserver"] else {}
        frame = run(spark, sql, **options, options=given)
        names, rows = frame.columns, [row.asDict() for row in frame.limit(limit).collect()]
    if as_json:
        echo_json([{name: _plain(row[name]) for name in names} for row in rows])
    else:
        print_table(names, [[str(_plain(row[name])) for name in names] for row in rows])


def _plain(value: Any) -> Any:
    return bytes(value).decode(errors="replace") if isinstance(value, bytes | bytearray) else value
