"""Which brokers live, and the route to each topic. Pure state: no sockets, and the clock comes from outside.

Topics are taken from the broker that rules its group: the master, or with an acting master the lowest id. A broker
that comes back with the data version we hold only shows that it lives. A group without brokers is gone, and its topics
with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from sprocketmq.codes import ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.logs import Events
from sprocketmq.nameserver.brokers import (
    DEFAULT_EXPIRY_MS,
    MASTER_ID,
    BrokerGroup,
    BrokerRegistration,
    LiveBroker,
    Registered,
    RulerChange,
)
from sprocketmq.nameserver.topics import TopicDirectory
from sprocketmq.protocol.bodies.cluster import ClusterInfo
from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.protocol.bodies.route import BrokerData, QueueData, TopicRouteData
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.protocol.permissions import PERM_WRITE

events = Events("sprocketmq.nameserver.routes")

Clock = Callable[[], float]


class RouteTable:
    def __init__(self, clock: Clock) -> None:
        self.on_ruler_changed: Callable[[RulerChange], None] | None = None
        self.topics = TopicDirectory()
        self._clock = clock
        self._changes = 0
        self._groups: dict[str, BrokerGroup] = {}
        self._live: dict[tuple[str, str], LiveBroker] = {}
        self._filter_servers: dict[str, tuple[str, ...]] = {}

    @property
    def version(self) -> int:
        """Moves with every change that a route could show."""
        return self._changes + self.topics.version

    # -- brokers ----------------------------------------------------------------------------------------------------

    def register(self, coming: BrokerRegistration, *, delete_absent: bool = False) -> Registered:
        """Take in a registration; RequestRefused when it cannot be true.

        With `delete_absent` the group loses the topics that the registration lacks.
        """
        group = self._groups.get(coming.name) or BrokerGroup(cluster=coming.cluster, name=coming.name)
        if self._is_outdated(group, coming):
            return Registered(is_new=False)
        is_new = coming.broker_id not in group.addresses
        if is_new and len(coming.topics.topic_config_table) == 1:
            # A broker that starts has its system topics; one topic alone is the increment of one that we lost.
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, "the first registration of a broker brings all its topics")
        self._leave_old_group(coming)
        ruler_before = group.ruler
        self._join(group, coming)
        if _speaks_for_group(group, coming):
            self._take_topics(group, coming, is_new, delete_absent)
        self._keep_alive(coming)
        if ruler_before is not None and group.ruler != ruler_before:
            self._tell_ruler(group, None)
        return self._answer(group, coming, is_new)

    def unregister(self, cluster: str, name: str, address: str) -> LiveBroker | None:
        """Forget the broker at `address`; the record we had of it, if any."""
        live = self._live.get((cluster, address))
        if live is not None and live.name == name:
            del self._live[cluster, address]
        self._filter_servers.pop(address, None)
        self._changes += 1
        group = self._groups.get(name)
        if group is None:
            return live
        ruler = group.ruler
        group.leave(address)
        if not group.addresses:
            del self._groups[name]
            self.topics.drop_broker(name)
        elif group.ruler != ruler:
            self._lose_ruler(group, address)
        return live

    def session_closed(self, session: object) -> list[LiveBroker]:
        """The connection is gone, and with it every broker that registered through it last."""
        return self._unregister_all([live for live in self._live.values() if live.session is session])

    def expire(self) -> list[LiveBroker]:
        """Forget the brokers that have been silent for too long."""
        now = self._clock()
        return self._unregister_all(
            [live for live in self._live.values() if (now - live.last_seen) * 1000 > live.expiry_ms]
        )

    def heartbeat(self, cluster: str, address: str) -> None:
        if (live := self._live.get((cluster, address))) is not None:
            live.last_seen = self._clock()

    def data_version(self, cluster: str, address: str) -> DataVersion | None:
        live = self._live.get((cluster, address))
        return None if live is None else live.data_version

    def at(self, address: str) -> list[LiveBroker]:
        """What was registered of this address, whatever its cluster."""
        return [live for live in self._live.values() if live.address == address]

    def group(self, name: str) -> BrokerGroup | None:
        return self._groups.get(name)

    def groups(self) -> Iterable[BrokerGroup]:
        return self._groups.values()

    def cluster_info(self) -> ClusterInfo:
        clusters: dict[str, set[str]] = {}
        for group in self._groups.values():
            clusters.setdefault(group.cluster, set()).add(group.name)
        return ClusterInfo(
            broker_addr_table={name: group.data() for name, group in sorted(self._groups.items())},
            cluster_addr_table={name: frozenset(members) for name, members in sorted(clusters.items())},
        )

    # -- topics -----------------------------------------------------------------------------------------------------

    def route(self, topic: str, *, acting_master: bool = False) -> TopicRouteData | None:
        """Where `topic` is; None when nobody has it.

        With `acting_master` the lowest slave of a group that lost its master stands in its place, to be read.
        """
        queues = self.topics.queues(topic)
        groups = [self._groups[name] for name in sorted(queues) if name in self._groups]
        if not groups:
            return None
        addresses = (address for group in groups for address in group.addresses.values())
        return TopicRouteData(
            queue_datas=tuple(queues[name] for name in sorted(queues)),
            broker_datas=tuple(
                _with_acting_master(group, queues[group.name]) if acting_master else group.data() for group in groups
            ),
            filter_server_table={at: self._filter_servers[at] for at in addresses if at in self._filter_servers},
            topic_queue_mapping_by_broker=self.topics.mappings(topic),
        )

    def topics_of_cluster(self, cluster: str) -> frozenset[str]:
        return self.topics.of_brokers({group.name for group in self._groups.values() if group.cluster == cluster})

    def put_queues(self, topic: str, queues: Iterable[QueueData]) -> None:
        """Announce one topic of brokers that are known already; others are left out."""
        for each in queues:
            if each.broker_name in self._groups:
                self.topics.put(topic, each)

    def delete_topic(self, topic: str, cluster: str | None = None) -> bool:
        """Forget `topic`, everywhere or in one cluster; False when nobody had it."""
        owners = [name for name in self.topics.queues(topic) if cluster in (None, self._groups[name].cluster)]
        for name in owners:
            self.topics.drop(topic, name)
        return bool(owners)

    # -- inside -----------------------------------------------------------------------------------------------------

    def _is_outdated(self, group: BrokerGroup, coming: BrokerRegistration) -> bool:
        """Another address holds this id with a higher state version: that one is the newer master.

        With the same version or a higher one it takes the place, as a new master must whose predecessor hangs. A name
        is one broker's whatever cluster it says it is of, so the record is looked up under the group's.
        """
        address = group.addresses.get(coming.broker_id)
        if address is None or address == coming.address:
            return False
        live = self._live.get((group.cluster, address))
        if live is None or live.data_version.state_version <= coming.topics.data_version.state_version:
            if live is not None:
                events.warning("broker displaced", broker=coming.name, address=address, by=coming.address)
            return False
        self._live.pop((coming.cluster, coming.address), None)
        return True

    def _leave_old_group(self, coming: BrokerRegistration) -> None:
        """A broker that was given another name leaves nothing under the old one: nobody would ever expire it."""
        live = self._live.get((coming.cluster, coming.address))
        if live is not None and live.name != coming.name:
            self.unregister(live.cluster, live.name, live.address)

    def _join(self, group: BrokerGroup, coming: BrokerRegistration) -> None:
        before = group.data()
        group.cluster, group.zone = coming.cluster, coming.zone
        group.acting_master = bool(coming.acting_master)
        group.leave(coming.address)  # a slave that became master comes with the same address under another id
        group.addresses[coming.broker_id] = coming.address
        self._groups[coming.name] = group
        if group.data() != before:
            self._changes += 1

    def _take_topics(self, group: BrokerGroup, coming: BrokerRegistration, is_new: bool, delete_absent: bool) -> None:
        wrapper = coming.topics
        is_changed = is_new or self.data_version(coming.cluster, coming.address) != wrapper.data_version
        if delete_absent and not wrapper.topic_queue_mapping_info_map:
            for topic in self.topics.of_brokers({group.name}) - wrapper.topic_config_table.keys():
                self.topics.drop(topic, group.name)
        read_only = coming.broker_id != MASTER_ID and group.acting_master
        for topic, config in wrapper.topic_config_table.items():
            if is_changed or group.name not in self.topics.queues(topic):
                self.topics.put(topic, _queue_data(group.name, config, read_only))
        if is_changed:
            for topic, mapping in wrapper.topic_queue_mapping_info_map.items():
                self.topics.put_mapping(topic, mapping)

    def _keep_alive(self, coming: BrokerRegistration) -> None:
        if self._filter_servers.pop(coming.address, ()) != coming.filter_servers:
            self._changes += 1
        if coming.filter_servers:
            self._filter_servers[coming.address] = coming.filter_servers
        self._live[coming.cluster, coming.address] = LiveBroker(
            cluster=coming.cluster,
            name=coming.name,
            broker_id=coming.broker_id,
            address=coming.address,
            ha_address=coming.ha_address,
            data_version=coming.topics.data_version,
            expiry_ms=coming.expiry_ms or DEFAULT_EXPIRY_MS,
            last_seen=self._clock(),
            session=coming.session,
        )

    def _answer(self, group: BrokerGroup, coming: BrokerRegistration, is_new: bool) -> Registered:
        master = group.addresses.get(MASTER_ID)
        live = None if master is None else self._live.get((coming.cluster, master))
        if coming.broker_id == MASTER_ID or live is None:
            return Registered(is_new)
        return Registered(is_new, master_address=master, ha_address=live.ha_address)

    def _unregister_all(self, gone: list[LiveBroker]) -> list[LiveBroker]:
        for live in gone:
            self.unregister(live.cluster, live.name, live.address)
        return gone

    def _lose_ruler(self, group: BrokerGroup, address: str) -> None:
        """What an acting-master group has left without its master can be read, not written."""
        if group.acting_master and MASTER_ID not in group.addresses:
            self.topics.set_writable(group.name, False)
        self._tell_ruler(group, address)

    def _tell_ruler(self, group: BrokerGroup, offline: str | None) -> None:
        if self.on_ruler_changed is None or group.ruler is None:
            return
        address = group.addresses[group.ruler]
        live = tuple(each for each in self._live.values() if each.name == group.name)
        self.on_ruler_changed(
            RulerChange(
                group=group.name,
                broker_id=group.ruler,
                address=address,
                ha_address=next((each.ha_address for each in live if each.address == address), ""),
                offline_address=offline,
                live=live,
            )
        )


def _speaks_for_group(group: BrokerGroup, coming: BrokerRegistration) -> bool:
    """A master does; a slave does when it has the lowest id and is new enough to know of acting masters."""
    return coming.broker_id == MASTER_ID or (coming.acting_master is not None and coming.broker_id == group.ruler)


def _queue_data(broker_name: str, config: TopicConfig, read_only: bool) -> QueueData:
    return QueueData(
        broker_name=broker_name,
        read_queue_nums=config.read_queue_nums,
        write_queue_nums=config.write_queue_nums,
        perm=config.perm & ~PERM_WRITE if read_only else config.perm,
        topic_sys_flag=config.topic_sys_flag,
    )


def _with_acting_master(group: BrokerGroup, queues: QueueData) -> BrokerData:
    data = group.data()
    if not group.acting_master or MASTER_ID in group.addresses or queues.perm & PERM_WRITE or group.ruler is None:
        return data
    others = {each: at for each, at in data.broker_addrs.items() if each != group.ruler}
    return replace(data, broker_addrs={MASTER_ID: group.addresses[group.ruler], **others})
