"""The admin client for code without an event loop; see `sync`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, Unpack

from sprocketmq.client.admin.accounts import Accounts as AsyncAccounts
from sprocketmq.client.admin.brokers import Brokers as AsyncBrokers
from sprocketmq.client.admin.client import AdminClient as AsyncAdminClient
from sprocketmq.client.admin.controllers import Controllers as AsyncControllers
from sprocketmq.client.admin.groups import Groups as AsyncGroups
from sprocketmq.client.admin.messages import Messages as AsyncMessages
from sprocketmq.client.admin.offsets import Offsets as AsyncOffsets
from sprocketmq.client.admin.topics import Topics as AsyncTopics
from sprocketmq.client.options import ClientOptions, Connecting
from sprocketmq.client.sync.facade import Facade

N = TypeVar("N")
P = ParamSpec("P")
R = TypeVar("R")


class AdminClient(Facade[AsyncAdminClient]):
    """Looks after a cluster; see the asyncio AdminClient."""

    def __init__(
        self, nameserver: str | Sequence[str] | ClientOptions | None = None, **connecting: Unpack[Connecting]
    ) -> None:
        options = ClientOptions.of(nameserver, **connecting)
        super().__init__(lambda: AsyncAdminClient(options), options)

    @property
    def topics(self) -> Topics:
        return Topics(self, lambda client: client.topics)

    @property
    def groups(self) -> Groups:
        return Groups(self, lambda client: client.groups)

    @property
    def brokers(self) -> Brokers:
        return Brokers(self, lambda client: client.brokers)

    @property
    def controllers(self) -> Controllers:
        return Controllers(self, lambda client: client.controllers)

    @property
    def messages(self) -> Messages:
        return Messages(self, lambda client: client.messages)

    @property
    def offsets(self) -> Offsets:
        return Offsets(self, lambda client: client.offsets)

    @property
    def accounts(self) -> Accounts:
        return Accounts(self, lambda client: client.accounts)


class AdminNoun(Generic[N]):
    """One noun of the admin client."""

    def __init__(self, facade: AdminClient, find: Callable[[AsyncAdminClient], N]) -> None:
        self._facade, self._find = facade, find


def part(method: Callable[Concatenate[N, P], Coroutine[Any, Any, R]]) -> Callable[Concatenate[AdminNoun[N], P], R]:
    """The same method of a noun, waiting."""

    @functools.wraps(method)
    def call(self: AdminNoun[N], /, *args: P.args, **kwargs: P.kwargs) -> R:
        noun = self._find(self._facade._started())
        return self._facade._run(method(noun, *args, **kwargs))

    return call


class Topics(AdminNoun[AsyncTopics]):
    names = part(AsyncTopics.names)
    route = part(AsyncTopics.route)
    create = part(AsyncTopics.create)
    delete = part(AsyncTopics.delete)
    stats = part(AsyncTopics.stats)
    figures = part(AsyncTopics.figures)
    config = part(AsyncTopics.config)
    set_perm = part(AsyncTopics.set_perm)
    groups = part(AsyncTopics.groups)
    writable = part(AsyncTopics.writable)


class Groups(AdminNoun[AsyncGroups]):
    names = part(AsyncGroups.names)
    config = part(AsyncGroups.config)
    create = part(AsyncGroups.create)
    delete = part(AsyncGroups.delete)
    lag = part(AsyncGroups.lag)
    progress = part(AsyncGroups.progress)
    figures = part(AsyncGroups.figures)
    connection = part(AsyncGroups.connection)
    producers = part(AsyncGroups.producers)
    running_info = part(AsyncGroups.running_info)
    owners = part(AsyncGroups.owners)


class Brokers(AdminNoun[AsyncBrokers]):
    cluster = part(AsyncBrokers.cluster)
    status = part(AsyncBrokers.status)
    status_at = part(AsyncBrokers.status_at)
    greet = part(AsyncBrokers.greet)
    runtime = part(AsyncBrokers.runtime)
    config = part(AsyncBrokers.config)
    set_config = part(AsyncBrokers.set_config)
    producers = part(AsyncBrokers.producers)
    replication = part(AsyncBrokers.replication)
    epochs = part(AsyncBrokers.epochs)
    behind = part(AsyncBrokers.behind)
    lags = part(AsyncBrokers.lags)
    timers = part(AsyncBrokers.timers)
    wipe_write_perm = part(AsyncBrokers.wipe_write_perm)
    add_write_perm = part(AsyncBrokers.add_write_perm)
    clean_expired_queues = part(AsyncBrokers.clean_expired_queues)
    delete_expired_log = part(AsyncBrokers.delete_expired_log)
    clean_unused_topics = part(AsyncBrokers.clean_unused_topics)


class Controllers(AdminNoun[AsyncControllers]):
    metadata = part(AsyncControllers.metadata)
    replicas = part(AsyncControllers.replicas)
    leader = part(AsyncControllers.leader)
    elect = part(AsyncControllers.elect)
    remove = part(AsyncControllers.remove)


class Messages(AdminNoun[AsyncMessages]):
    get = part(AsyncMessages.get)
    find = part(AsyncMessages.find)
    at = part(AsyncMessages.at)
    read = part(AsyncMessages.read)
    give_back = part(AsyncMessages.give_back)
    check_again = part(AsyncMessages.check_again)
    track = part(AsyncMessages.track)
    trace = part(AsyncMessages.trace)
    consume_directly = part(AsyncMessages.consume_directly)


class Offsets(AdminNoun[AsyncOffsets]):
    get = part(AsyncOffsets.get)
    preview = part(AsyncOffsets.preview)
    reset = part(AsyncOffsets.reset)
    clone = part(AsyncOffsets.clone)


class Accounts(AdminNoun[AsyncAccounts]):
    users = part(AsyncAccounts.users)
    add_user = part(AsyncAccounts.add_user)
    change_user = part(AsyncAccounts.change_user)
    remove_user = part(AsyncAccounts.remove_user)
    acls = part(AsyncAccounts.acls)
    put_acl = part(AsyncAccounts.put_acl)
    remove_acl = part(AsyncAccounts.remove_acl)
