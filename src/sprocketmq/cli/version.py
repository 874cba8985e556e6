"""`sprocket version`."""

from __future__ import annotations

import click

import sprocketmq
from sprocketmq.hot import loader


def version_line() -> str:
    return f"sprocketmq {sprocketmq.__version__} ({loader.form()})"


@click.command()
def version() -> None:
    """Version, and whether the hot modules are compiled."""
    click.echo(version_line())
