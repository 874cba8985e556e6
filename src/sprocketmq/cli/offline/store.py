"""`sprocket store`: what is in a store directory, and whether it is whole. Only `rebuild` and `replay` write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click

from sprocketmq.cli.output.store_json import store_json
from sprocketmq.cli.output.times import Moment
from sprocketmq.errors import StoreError
from sprocketmq.store.view import Damage, Found, Selection, Sizes, StoreView, Unreadable, rows, scan_log, scan_queues
from sprocketmq.store.view.store import FOREVER


def store_options(command: Callable[..., None]) -> Callable[..., None]:
    """DIR, the file sizes, and --json."""
    options = [
        click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path)),
        click.option("--commit-log-file-size", type=int, help="mappedFileSizeCommitLog; else found from the files."),
        click.option("--consume-queue-file-size", type=int, help="mappedFileSizeConsumeQueue; else found."),
        click.option("--hash-slots", type=int, help="maxHashSlotNum of an index file; else found."),
        click.option("--index-entries", type=int, help="maxIndexNum of an index file; else found."),
        click.option("--json", "as_json", is_flag=True, help="JSON instead of text."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _sizes(options: dict[str, Any]) -> Sizes:
    return Sizes(
        options.pop("commit_log_file_size"),
        options.pop("consume_queue_file_size"),
        options.pop("hash_slots"),
        options.pop("index_entries"),
    )


def _open(directory: Path, options: dict[str, Any]) -> StoreView:
    if not any((directory / name).is_dir() for name in ("commitlog", "consumequeue", "config")):
        raise StoreError(f"{directory} is not a store: it has no commitlog, consumequeue or config")
    return StoreView(directory, _sizes(options))


@click.group()
def store() -> None:
    """Look into a store directory: stat, scan, verify, rebuild, replay."""


@store.command()
@store_options
def stat(directory: Path, as_json: bool, **options: Any) -> None:
    """What is there: log, queues, offsets, checkpoint, index files. A crashed store is shown as after recovery."""
    row = rows.store_row(_open(directory, options))
    if as_json:
        click.echo(store_json(row))
    else:
        from sprocketmq.cli.output.store_text import print_stat

        print_stat(row)


@store.command()
@store_options
@click.option("--topic", "-t", "topics", multiple=True, help="Only this topic; may be repeated.")
@click.option("--queue", "-q", "queue_ids", multiple=True, type=int, help="Only this queue id; may be repeated.")
@click.option("--key", "-k", "keys", multiple=True, help="Only messages with this key or unique key.")
@click.option("--tag", "tags", multiple=True, help="Only messages with this tag; may be repeated.")
@click.option("--from-time", "begin_time", type=Moment(), default=0, help="Stored at this time or later.")
@click.option("--to-time", "end_time", type=Moment(), default=FOREVER, help="Stored at this time or earlier.")
@click.option("--from-offset", "begin_offset", type=int, default=0, help="First queue offset.")
@click.option("--to-offset", "end_offset", type=int, default=FOREVER, help="Queue offset after the last.")
@click.option("--from-physical", "begin_physical", type=int, default=0, help="First offset in the log.")
@click.option("--to-physical", "end_physical", type=int, default=FOREVER, help="Offset in the log after the last.")
@click.option("--limit", "-n", type=click.IntRange(min=1), help="Stop after this many messages.")
@click.option(
    "--body", "body_form", type=click.Choice(["text", "base64", "none"]), default="text", help="How to show bodies.",
    show_default=True,
)  # fmt: skip
@click.option("--commit-order", is_flag=True, help="Walk the CommitLog instead of the queues.")
def scan(
    directory: Path,
    as_json: bool,
    limit: int | None,
    body_form: rows.BodyForm,
    commit_order: bool,
    **options: Any,
) -> None:
    """Every message, one line each: by topic, queue and offset, or in commit order."""
    from sprocketmq.cli.output.store_text import message_line

    view = _open(directory, options)
    chosen: dict[str, Any] = {
        name: frozenset(value) if isinstance(value, tuple) else value for name, value in options.items()
    }
    selection = Selection(**chosen)
    found: Iterator[Found | Unreadable | Damage] = (scan_log if commit_order else scan_queues)(view, selection)
    for one in islice(found, limit):
        row = _row(one, body_form)
        click.echo(store_json(row) if as_json else message_line(row))


def _row(found: Found | Unreadable | Damage, body_form: rows.BodyForm) -> dict[str, Any]:
    if isinstance(found, Unreadable):
        return rows.unreadable_row(found)
    if isinstance(found, Damage):
        return rows.damage_row(found)
    return rows.message_row(found.record, found.queue_offset, found.tags_code, body_form)


@store.command()
@store_options
@click.option("--progress", "as_lines", is_flag=True, help="Tell programs how far it is: lines of JSON on stderr.")
@click.pass_context
def verify(ctx: click.Context, /, directory: Path, as_json: bool, as_lines: bool, **options: Any) -> None:
    """Check every record, queue entry and index entry, the checkpoint and the config against each other.

    Exits 1 when something is wrong. What a crash leaves and the next start repairs is listed, but is not wrong.
    """
    from sprocketmq.cli.output.progress import byte_progress
    from sprocketmq.store.offline.verify import verify as check
    from sprocketmq.store.offline.verify_findings import Severity

    view = _open(directory, options)
    with byte_progress("checking", view.log_begin, view.log_end, as_lines=as_lines) as progress:
        findings = list(check(view, progress))
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    if as_json:
        click.echo(store_json({"ok": not errors, "findings": [finding.row() for finding in findings]}))
    else:
        for finding in findings:
            click.echo(f"{finding.severity}: {finding}")
        click.echo(f"{errors} errors, {len(findings) - errors} recoverable" if findings else "no findings")
    if errors:
        ctx.exit(1)


@store.command()
@store_options
def rebuild(directory: Path, as_json: bool, **options: Any) -> None:
    """Write the queues and the index anew from the CommitLog. No broker may be running on DIR."""
    from sprocketmq.cli.output.progress import byte_progress
    from sprocketmq.store.offline.rebuild import Rebuild

    if not (directory / "commitlog").is_dir():
        raise StoreError(f"{directory} has no commitlog to rebuild from")
    work = Rebuild(directory, _sizes(options))
    with byte_progress("rebuilding", work.view.log_begin, work.view.log_end) as progress:
        done = work.run(progress)
    if as_json:
        click.echo(store_json(done.row()))
        return
    for finding in done.findings:
        click.echo(f"{finding.severity}: {finding}")
    click.echo(
        f"{done.records} records: {done.queue_entries} entries in {done.queues} queues, "
        f"{done.index_entries} in {done.index_files} index files"
    )


@store.command()
@store_options
@click.option("--dry-run", is_flag=True, help="Only say what would be appended.")
def replay(directory: Path, as_json: bool, dry_run: bool, **options: Any) -> None:
    """Append again what a recovery cut off and kept in DIR/quarantine. No broker may be running on DIR.

    The messages get new offsets. A file that is done is renamed, so that nothing is replayed twice.
    """
    from sprocketmq.store.offline.replay import Replay

    work = Replay(directory, _open(directory, options))
    rows = [{"file": str(path), "records": count} for path, count in (work.pending() if dry_run else work.run())]
    if as_json:
        click.echo(store_json({"dryRun": dry_run, "files": rows}))
        return
    for row in rows:
        click.echo(f"{row['file']}: {row['records']} records {'to append' if dry_run else 'appended'}")
    if not rows:
        click.echo("nothing is in quarantine")
