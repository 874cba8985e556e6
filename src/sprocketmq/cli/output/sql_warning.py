"""An SQL92 expression ends where the grammar cannot go on, as in RocketMQ: who has typed more wants to know that."""

from __future__ import annotations

import click


def warn_of_ignored(expression: str) -> None:
    from sprocketmq.filter.sql import ignored_by_sql

    if rest := ignored_by_sql(expression):
        click.echo(f"the expression ends before {rest!r}, which is not looked at (as in RocketMQ)", err=True)
