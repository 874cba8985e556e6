"""Who is connected: producers and consumers by group, as their heartbeats tell.

A client is one connection with a client id; it may belong to many groups. It is gone when its connection closes, when
it unregisters, or when no heartbeat came for two minutes. Consumers of a group hear of each change at once, so that
they share the queues anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from sprocketmq.broker.tables.subscriptions import GroupSubscription, subscription_bytes, subscription_of
from sprocketmq.errors import FilterError
from sprocketmq.logs import Events
from sprocketmq.protocol import names
from sprocketmq.protocol.bodies.heartbeat import ConsumerData, SubscriptionData
from sprocketmq.protocol.enums import ConsumeFromWhere, ConsumeType, MessageModel
from sprocketmq.remoting import Connection
from sprocketmq.remoting.limits import UseByAddress
from sprocketmq.store.files.clock import Clock

events = Events("sprocketmq.broker.clients")

#: Groups of one connection, where no setting says otherwise.
MAX_GROUPS = 1000
#: Groups of all connections together: a group counts once for each of its members.
MAX_MEMBERSHIPS = 200_000
FULL = "the connection, its address, or all together, are in as many groups as they may be"
#: What the subscriptions of all groups may take together.
SUBSCRIPTION_BYTES = 128 << 20


@dataclass(slots=True)
class Client:
    """One client in one group."""

    connection: Connection
    client_id: str
    language: int | None
    version: int
    last_update_ms: int
    #: The same by the time that passes: a clock that is set makes nobody silent.
    seen_ms: int


Members = dict[Connection, Client]


class Memberships:
    """Which groups each connection is in, so that nobody walks all groups to find them; at most so many, of one
    connection, of one address and of all.
    """

    def __init__(self, limit: Callable[[], int]) -> None:
        self.refused = 0
        self._limit = limit
        self._use = UseByAddress()
        self._groups: dict[Connection, dict[str, None]] = {}

    def of(self, connection: Connection) -> list[str]:
        return list(self._groups.get(connection, ()))

    def add(self, connection: Connection, group: str) -> bool:
        """False when it is in as many groups as it may be."""
        groups = self._groups.get(connection, {})
        if group in groups:
            return True
        if len(groups) >= self._limit() or not self._use.has_room(connection.peer.host, MAX_MEMBERSHIPS):
            self.refused += 1
            return False
        self._groups.setdefault(connection, groups)[group] = None
        self._use.take(connection.peer.host)
        return True

    def discard(self, connection: Connection, group: str) -> None:
        groups = self._groups.get(connection, {})
        if group in groups:
            del groups[group]
            self._use.give_back(connection.peer.host)
            if not groups:
                del self._groups[connection]


class ProducerTable:
    def __init__(self, clock: Clock, max_groups: Callable[[], int] = lambda: MAX_GROUPS) -> None:
        self.groups: dict[str, Members] = {}
        self.memberships = Memberships(max_groups)
        self._clock = clock
        #: Connections by client id, with the groups that they have it in.
        self._ids: dict[str, dict[Connection, set[str]]] = {}

    def register(self, group: str, client: Client) -> None:
        fault = names.group_fault(group)
        if fault is not None or not self.memberships.add(client.connection, group):
            events.warning("producer not registered", group=group, reason=fault or FULL, peer=client.connection.peer)
            return
        members = self.groups.setdefault(group, {})
        known = members.get(client.connection)
        if known is None:
            events.debug("producer registered", group=group, client=client.client_id, peer=client.connection.peer)
        elif known.client_id != client.client_id:
            self._forget_id(known, group)
        members[client.connection] = client
        self._ids.setdefault(client.client_id, {}).setdefault(client.connection, set()).add(group)

    def unregister(self, group: str, connection: Connection) -> None:
        members = self.groups.get(group)
        client = None if members is None else members.pop(connection, None)
        if members is None or client is None:
            return
        self.memberships.discard(connection, group)
        self._forget_id(client, group)
        if not members:
            del self.groups[group]

    def _forget_id(self, client: Client, group: str) -> None:
        connections = self._ids[client.client_id]
        connections[client.connection].discard(group)
        if not connections[client.connection]:
            del connections[client.connection]
        if not connections:
            del self._ids[client.client_id]

    def connection_closed(self, connection: Connection) -> None:
        for group in self.memberships.of(connection):
            self.unregister(group, connection)

    def find(self, client_id: str) -> Connection | None:
        """The connection of a client, in whatever group it is."""
        return next((each for each in self._ids.get(client_id, ()) if not each.closed), None)

    def expire(self, older_than_ms: int) -> None:
        limit = self._clock.monotonic_ms() - older_than_ms
        for group, members in list(self.groups.items()):
            for client in [client for client in members.values() if client.seen_ms < limit]:
                self.unregister(group, client.connection)
                client.connection.close()


@dataclass(slots=True)
class ConsumerGroup:
    name: str
    consume_type: ConsumeType
    message_model: MessageModel
    consume_from_where: ConsumeFromWhere
    members: Members = field(default_factory=dict)
    subscriptions: dict[str, GroupSubscription] = field(default_factory=dict)
    #: The address that each of them is of.
    brought_by: dict[str, str] = field(default_factory=dict)
    last_update_ms: int = 0

    @property
    def is_broadcasting(self) -> bool:
        return self.message_model is MessageModel.BROADCASTING

    def client_ids(self) -> list[str]:
        return [client.client_id for client in self.members.values()]

    def find(self, client_id: str) -> Client | None:
        return next((client for client in self.members.values() if client.client_id == client_id), None)


#: Told of a group whose members or subscriptions have changed.
GroupChanged = Callable[[ConsumerGroup], object]
#: Compiles a group's subscription; raises FilterError.
Subscribe = Callable[[str, SubscriptionData], GroupSubscription]


class ConsumerTable:
    def __init__(self, clock: Clock, max_groups: Callable[[], int] = lambda: MAX_GROUPS) -> None:
        self.groups: dict[str, ConsumerGroup] = {}
        self.memberships = Memberships(max_groups)
        self.on_change: list[GroupChanged] = []
        self.subscribe: Subscribe = lambda _group, data: subscription_of(data)
        #: Subscriptions for which there was no room.
        self.refused = 0
        self._use = UseByAddress()
        self._clock = clock

    def get(self, group: str) -> ConsumerGroup | None:
        return self.groups.get(group)

    def __iter__(self) -> Iterator[ConsumerGroup]:
        return iter(tuple(self.groups.values()))

    def register(self, data: ConsumerData, client: Client, *, keep_subscriptions: bool = False) -> bool:
        """Note a client's heartbeat for one group; whether its members or subscriptions changed by it."""
        if not self.memberships.add(client.connection, data.group_name):
            events.warning("consumer not registered", group=data.group_name, reason=FULL, peer=client.connection.peer)
            return False
        group = self.groups.get(data.group_name)
        if group is None:
            group = self.groups[data.group_name] = _new_group(data)
        is_new = client.connection not in group.members
        group.members[client.connection] = client
        group.consume_type = data.consume_type or group.consume_type
        group.message_model = data.message_model or group.message_model
        group.consume_from_where = data.consume_from_where or group.consume_from_where
        group.last_update_ms = self._clock.now_ms()
        changed = False if keep_subscriptions else self._subscribe(group, data, client.connection.peer.host)
        if is_new:
            events.info(
                "consumer registered", group=group.name, client=client.client_id, peer=client.connection.peer,
                model=group.message_model.name,
            )  # fmt: skip
        if is_new or changed:
            self._changed(group)
        return is_new or changed

    def _subscribe(self, group: ConsumerGroup, data: ConsumerData, address: str) -> bool:
        """The last heartbeat wins, unless what is known is newer."""
        changed = False
        for wanted in data.subscription_data_set:
            known = group.subscriptions.get(wanted.topic)
            if known is not None and known.data.sub_version >= wanted.sub_version:
                continue
            try:
                self._keep(group, wanted, address)
            except FilterError as error:
                events.warning("subscription not understood", group=group.name, topic=wanted.topic, reason=error)
                continue
            changed |= known is None or known.data.sub_string != wanted.sub_string
        topics = {wanted.topic for wanted in data.subscription_data_set}
        for topic in [topic for topic in group.subscriptions if topic not in topics]:
            self._give_back(group, topic)
            del group.subscriptions[topic], group.brought_by[topic]
            changed = True
        return changed

    def _keep(self, group: ConsumerGroup, wanted: SubscriptionData, address: str) -> None:
        """It counts for the address that brought it, until another one brings another."""
        known = group.subscriptions.get(wanted.topic)
        size = subscription_bytes(wanted)
        before = 0 if known is None else known.kept_bytes
        if size > before and not self._use.has_room(address, SUBSCRIPTION_BYTES, size - before):
            self.refused += 1
            raise FilterError("the subscriptions of all groups, or of this address, take as much memory as they may")
        made = self.subscribe(group.name, wanted)
        if known is not None:
            self._give_back(group, wanted.topic)
        group.subscriptions[wanted.topic], group.brought_by[wanted.topic] = made, address
        self._use.take(address, made.kept_bytes)

    def _give_back(self, group: ConsumerGroup, topic: str) -> None:
        self._use.give_back(group.brought_by[topic], group.subscriptions[topic].kept_bytes)

    def unregister(self, group_name: str, connection: Connection) -> None:
        group = self.groups.get(group_name)
        client = None if group is None else group.members.pop(connection, None)
        if group is None or client is None:
            return
        self.memberships.discard(connection, group_name)
        events.info("consumer gone", group=group_name, client=client.client_id, peer=connection.peer)
        if not group.members:
            del self.groups[group_name]
            for topic in group.subscriptions:
                self._give_back(group, topic)
        self._changed(group)

    def connection_closed(self, connection: Connection) -> None:
        for group in self.memberships.of(connection):
            self.unregister(group, connection)

    def find(self, group: str, client_id: str) -> Connection | None:
        found = self.groups.get(group)
        client = None if found is None else found.find(client_id)
        return None if client is None else client.connection

    def groups_of(self, topic: str) -> set[str]:
        """The groups that are here now and subscribe to a topic."""
        return {group.name for group in self.groups.values() if topic in group.subscriptions}

    def expire(self, older_than_ms: int) -> None:
        limit = self._clock.monotonic_ms() - older_than_ms
        for group in self:
            for client in [client for client in group.members.values() if client.seen_ms < limit]:
                self.unregister(group.name, client.connection)
                client.connection.close()

    def _changed(self, group: ConsumerGroup) -> None:
        for hook in self.on_change:
            hook(group)


def _new_group(data: ConsumerData) -> ConsumerGroup:
    return ConsumerGroup(
        data.group_name,
        data.consume_type or ConsumeType.CONSUME_PASSIVELY,
        data.message_model or MessageModel.CLUSTERING,
        data.consume_from_where or ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
    )
