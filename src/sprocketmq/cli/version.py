"""`sprocket version`."""

from __future__ import annotations

import click

import sprocketmq
from sprocketmq.hot import loader


@click.command()
def version() -> None:
    """Version, and whether the hot modules are compiled."""
    click.echo(f"sprocketmq {sprocketmq.__version__} ({loader.form()})")
