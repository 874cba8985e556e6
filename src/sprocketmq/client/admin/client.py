"""The admin client: one object, with a part for each noun of the command line, imported when it is first used."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from sprocketmq.client.admin.core import AdminCore
from sprocketmq.client.cluster.instance import ClientInstance
from sprocketmq.client.cluster.shared_instances import acquire, release
from sprocketmq.client.errors import Closed
from sprocketmq.client.options import ClientOptions, Connecting

if TYPE_CHECKING:
    from sprocketmq.client.admin.accounts import Accounts
    from sprocketmq.client.admin.brokers import Brokers
    from sprocketmq.client.admin.controllers import Controllers
    from sprocketmq.client.admin.groups import Groups
    from sprocketmq.client.admin.messages import Messages
    from sprocketmq.client.admin.offsets import Offsets
    from sprocketmq.client.admin.topics import Topics


class AdminClient:
    """Looks after a cluster, ours or Apache RocketMQ.

    async with AdminClient("127.0.0.1:9876") as admin:
        await admin.topics.create("orders", queues=8)
        for row in await admin.groups.lag("billing"):
            print(row.queue, row.lag)
    """

    def __init__(
        self, nameserver: str | Sequence[str] | ClientOptions | None = None, **connecting: Unpack[Connecting]
    ) -> None:
        self.options = ClientOptions.of(nameserver, **connecting)
        self._instance: ClientInstance | None = None
        self._core: AdminCore | None = None

    async def start(self) -> Self:
        if self._instance is None:
            self._instance = acquire(self.options)
            self._core = AdminCore(self._instance)
        return self

    async def stop(self) -> None:
        instance, self._instance, self._core = self._instance, None, None
        if instance is not None:
            await release(instance)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def topics(self) -> Topics:
        from sprocketmq.client.admin.topics import Topics

        return Topics(self._parts())

    @property
    def groups(self) -> Groups:
        from sprocketmq.client.admin.groups import Groups

        return Groups(self._parts())

    @property
    def brokers(self) -> Brokers:
        from sprocketmq.client.admin.brokers import Brokers

        return Brokers(self._parts())

    @property
    def controllers(self) -> Controllers:
        from sprocketmq.client.admin.controllers import Controllers

        return Controllers(self._parts())

    @property
    def messages(self) -> Messages:
        from sprocketmq.client.admin.messages import Messages

        return Messages(self._parts(), self.topics, self.groups)

    @property
    def offsets(self) -> Offsets:
        from sprocketmq.client.admin.offsets import Offsets

        return Offsets(self._parts())

    @property
    def accounts(self) -> Accounts:
        from sprocketmq.client.admin.accounts import Accounts

        return Accounts(self._parts())

    def _parts(self) -> AdminCore:
        if self._core is None:
            raise Closed("the admin client is not started, or was stopped")
        return self._core
