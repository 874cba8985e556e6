"""Topics, groups and brokers that a command names must be there: a typing error is no success and no empty table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sprocketmq.cli.nearest import did_you_mean
from sprocketmq.errors import SprocketError

if TYPE_CHECKING:
    from sprocketmq.client.admin import AdminClient


class NotThere(SprocketError):
    """No such name in the cluster."""


async def known_topic(admin: AdminClient, name: str, *, wait: float = 0.0) -> None:
    """A cluster that is still starting is waited for, for so many seconds."""
    from sprocketmq.client.errors import NoRoute

    try:
        await admin.topics.route(name, wait=wait)
    except NoRoute:
        names = await admin.topics.names(everything=True)
        if name in names:
            raise
        raise _not_there("topic", name, names, "`sprocket topic list` shows all.") from None


async def known_group(admin: AdminClient, name: str) -> None:
    from sprocketmq.client.errors import Refused
    from sprocketmq.codes import ResponseCode

    try:
        names = await admin.groups.names(everything=True)
    except Refused as error:
        if error.code == ResponseCode.NO_PERMISSION:
            return  # who may not see all groups may still see this one
        raise
    if name not in names:
        raise _not_there("group", name, names, "`sprocket group list` shows all.")


async def known_broker(admin: AdminClient, name: str) -> None:
    """By its name; an address is taken as it is."""
    names = list((await admin.brokers.cluster()).broker_addr_table)
    if ":" not in name and name not in names:
        raise _not_there("broker", name, names, "`sprocket cluster` shows all.")


def _not_there(kind: str, name: str, names: list[str], hint: str) -> NotThere:
    meant = did_you_mean(name, names)
    return NotThere(f"no {kind} {name}{meant or '.'} {hint}")
