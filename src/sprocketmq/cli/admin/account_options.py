"""Whose accounts a command means: those of running brokers, or those in the files of one that is stopped."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sprocketmq.cli.cluster_options import cluster_options, run_client
from sprocketmq.cli.completion import BROKER

if TYPE_CHECKING:
    from sprocketmq.client.options import ClientOptions
    from sprocketmq.protocol.bodies.acl import AclInfo, UserInfo

T = TypeVar("T")
C = TypeVar("C", bound=Callable[..., Any])


class Target:
    """Where accounts are. `accounts` opens them."""

    def __init__(self, options: ClientOptions, store: Path | None, cluster: str | None, broker: str | None) -> None:
        self._options = options
        self._store = store
        self._where = {"cluster": cluster, "broker": broker}

    @asynccontextmanager
    async def accounts(self, *, may_begin: bool = False) -> AsyncIterator[Any]:
        """A store that is not there yet `may_begin` with its first user; elsewhere its name is a mistake."""
        if self._store is not None:
            from sprocketmq.cli.offline.stored_accounts import stored_accounts

            store = self._store.expanduser()
            if not may_begin and not store.is_dir():
                raise click.BadParameter(f"Directory '{store}' does not exist", param_hint="--store")
            with stored_accounts(store) as stored:
                yield stored
            return
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(self._options) as admin:
            yield _Running(admin.accounts, self._where)

    def run(self, work: Callable[[Any], Awaitable[T]], *, may_begin: bool = False) -> T:
        async def whole() -> T:
            async with self.accounts(may_begin=may_begin) as accounts:
                return await work(accounts)

        return run_client(whole())


class _Running:
    """The admin client's accounts, on the brokers that the options name."""

    def __init__(self, accounts: Any, where: dict[str, str | None]) -> None:
        self._accounts = accounts
        self._where = where

    async def users(self, part: str | None = None) -> list[UserInfo]:
        found: list[UserInfo] = await self._accounts.users(part, broker=self._where["broker"])
        return found

    async def acls(self, subject: str | None = None, resource: str | None = None) -> list[AclInfo]:
        found: list[AclInfo] = await self._accounts.acls(subject, resource, broker=self._where["broker"])
        return found

    def __getattr__(self, name: str) -> Any:
        return functools.partial(getattr(self._accounts, name), **self._where)


def account_options(command: C) -> C:
    """--store, --cluster, --broker and those of a cluster; the command gets them as one `target` argument."""

    @functools.wraps(command)
    def wrapped(
        options: ClientOptions, store: Path | None, cluster: str | None, broker: str | None, **given: Any
    ) -> Any:
        return command(target=Target(options, store, cluster, broker), **given)

    decorated: Any = cluster_options(wrapped)
    for option in (
        click.option("--broker", type=BROKER, help="Only on this broker."),
        click.option("--cluster", help="Only on the brokers of this cluster."),
        click.option(
            "--store", type=click.Path(path_type=Path), help="The store of a broker that is stopped: change its files."
        ),
    ):
        decorated = option(decorated)
    result: C = decorated
    return result
