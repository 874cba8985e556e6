"""Ports as options, and what is said of one that is taken."""

from __future__ import annotations

import re

import click

PORT = click.IntRange(0, 65535)


def taken(error: OSError) -> str:
    """Of a bind that failed: asyncio has the address in its text alone, and the command knows what would change it."""
    found = re.search(r"\('([^']+)', (\d+)", str(error))
    where = f"{found[1]}:{found[2]}" if found else str(error)
    context = click.get_current_context(silent=True)
    options = [] if context is None else [each.opts[0] for each in context.command.params if each.type is PORT]
    advice = f"; {', '.join(options)} {'names another' if len(options) == 1 else 'name others'}" if options else ""
    return f"{where} is taken: another program listens there, perhaps a server that still runs{advice}"
