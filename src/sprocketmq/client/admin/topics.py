"""Topics: what there is, where it is, how full it is, and making and removing them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from sprocketmq.client.admin.core import AdminCore, one_target
from sprocketmq.client.admin.groups import Groups
from sprocketmq.client.cluster.route import AUTO_CREATE_TOPIC, Route
from sprocketmq.client.errors import InvalidMessage, Refused, is_unknown_code
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol import bodies, headers
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.header import from_ext_fields
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.names import ORDER_TOPIC_CONFIG, is_dlq_topic, is_retry_topic, is_system_topic, topic_fault


@dataclass(frozen=True, slots=True)
class TopicFigures:
    """What comes into a topic a second, and what its queues hold."""

    rate: float
    queues: dict[MessageQueue, bodies.stats.TopicOffset]

    @property
    def messages(self) -> int:
        return sum(offset.max_offset - offset.min_offset for offset in self.queues.values())

    @property
    def last_write_ms(self) -> int | None:
        return max((offset.last_update_timestamp for offset in self.queues.values()), default=0) or None


class Topics:
    def __init__(self, core: AdminCore) -> None:
        self._core = core

    async def names(self, *, everything: bool = False) -> list[str]:
        """The users' topics; with `everything` also retry, dead-letter and system topics."""
        answer = await self._core.nameserver(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
        names = codec.decode(bodies.topic.TopicList, answer.body).topic_list
        if not everything:
            cluster = await self._core.cluster()
            own = cluster.broker_addr_table.keys() | cluster.cluster_addr_table.keys()
            names = frozenset(name for name in names if _is_users(name) and name not in own)
        return self._core.inside(names)

    async def route(self, topic: str, *, wait: float = 0.0) -> Route:
        """Where the topic is. A cluster that is still starting is waited for, for so many seconds."""
        return await self._core.route(topic, wait)

    async def create(
        self,
        topic: str,
        *,
        queues: int = 8,
        read_queues: int | None = None,
        perm: int = 6,
        cluster: str | None = None,
        broker: str | None = None,
        order: bool = False,
        attributes: Mapping[str, str | None] | None = None,
    ) -> list[str]:
        """Make the topic, or change it, on every master of a cluster (of all, by default). Returns the brokers.

        An attribute that is None is taken away from a topic that has it.
        """
        one_target(cluster, broker)
        full = self._core.name(topic)
        if (fault := topic_fault(full)) is not None:
            raise InvalidMessage(fault)
        header = headers.topic.CreateTopicRequestHeader(
            topic=full,
            default_topic=AUTO_CREATE_TOPIC,
            read_queue_nums=queues if read_queues is None else read_queues,
            write_queue_nums=queues,
            perm=perm,
            topic_filter_type="SINGLE_TAG",
            topic_sys_flag=0,
            order=order,
            attributes=",".join(_change(*each) for each in (attributes or {}).items()) or None,
        )
        masters = await self._core.masters(cluster, broker)
        await self._core.each(
            masters, lambda address: self._core.call(address, RequestCode.UPDATE_AND_CREATE_TOPIC, header)
        )
        if order:
            kept = {} if broker is None else await self._order(full)
            await self._keep_order(full, kept | dict.fromkeys(masters, str(queues)))
        return list(masters)

    async def delete(self, topic: str, *, cluster: str | None = None) -> list[str]:
        """Remove the topic and its messages from the brokers, then from the nameservers."""
        full = self._core.name(topic)
        masters = await self._core.masters(cluster)
        header = headers.topic.DeleteTopicRequestHeader(topic=full)
        await self._core.each(
            masters, lambda address: self._core.call(address, RequestCode.DELETE_TOPIC_IN_BROKER, header)
        )
        forget = headers.nameserver.DeleteTopicFromNamesrvRequestHeader(topic=full, cluster_name=cluster)
        servers = self._core.instance.nameservers
        await servers.call_all(RequestCode.DELETE_TOPIC_IN_NAMESRV, forget, timeout=5.0)
        return list(masters)

    async def stats(self, topic: str) -> dict[MessageQueue, bodies.stats.TopicOffset]:
        """The first and the next offset of every queue, and when it was last written."""
        return (await self.figures(topic)).queues

    async def figures(self, topic: str) -> TopicFigures:
        """The same with the rate at which messages come; 0 from brokers before RocketMQ 5."""
        header = headers.topic.GetTopicStatsInfoRequestHeader(topic=self._core.name(topic))
        tables = await self._core.each(
            await self._core.topic_masters(topic),
            lambda address: self._core.fetch(
                bodies.stats.TopicStatsTable, address, RequestCode.GET_TOPIC_STATS_INFO, header
            ),
        )
        queues = dict(sorted(pair for table in tables.values() for pair in table.offset_table.items()))
        return TopicFigures(sum(table.topic_put_tps for table in tables.values()), queues)

    async def writable(self, broker_name: str) -> tuple[int, int]:
        """How many topics producers may send to on a broker, and how many it has."""
        names = await self.names(everything=True)
        found = await asyncio.gather(*(self._core.route(name) for name in names), return_exceptions=True)
        routes = [route for route in found if isinstance(route, Route) and broker_name in route.addresses]
        return sum(1 for route in routes if route.write_counts.get(broker_name, 0) > 0), len(routes)

    async def config(self, topic: str) -> dict[str, bodies.topic.TopicConfig]:
        """Its configuration on each broker."""
        return await self._core.each(
            await self._core.topic_masters(topic), lambda address: self._config(address, self._core.name(topic))
        )

    async def set_perm(self, topic: str, perm: int, *, broker: str | None = None) -> list[str]:
        """Change what may be done with the topic, and nothing else."""
        configs = await self.config(topic)
        chosen = {name: config for name, config in configs.items() if broker is None or name == broker}
        for name, config in chosen.items():
            await self.create(
                topic,
                queues=config.write_queue_nums,
                read_queues=config.read_queue_nums,
                perm=perm,
                broker=name,
                order=False,
            )
        return list(chosen)

    async def groups(self, topic: str) -> list[str]:
        """The groups that consume it."""
        header = headers.group.QueryTopicConsumeByWhoRequestHeader(topic=self._core.name(topic))
        lists = await self._core.each(
            await self._core.topic_masters(topic),
            lambda address: self._core.fetch(
                bodies.group.GroupList, address, RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, header
            ),
        )
        found = {group for told in lists.values() for group in told.group_list}
        if header.topic in found and not await self._is_group(topic):
            found.remove(header.topic)  # Apache RocketMQ 5.3 lists a topic that is subscribed to among its groups
        return sorted(found)

    async def _is_group(self, name: str) -> bool:
        try:
            return bool(await Groups(self._core).config(name))
        except Refused:
            return False

    async def _config(self, address: str, full: str) -> bodies.topic.TopicConfig:
        header = headers.topic.GetTopicConfigRequestHeader(topic=full)
        try:
            return await self._core.fetch(bodies.topic.TopicConfig, address, RequestCode.GET_TOPIC_CONFIG, header)
        except Refused as error:
            if not is_unknown_code(error):
                raise
        table = await self._core.fetch(
            bodies.topic.TopicConfigSerializeWrapper, address, RequestCode.GET_ALL_TOPIC_CONFIG
        )
        return table.topic_config_table[full]

    async def _order(self, full: str) -> dict[str, str]:
        """How many queues of each broker are in the topic's fixed list."""
        header = headers.kv.GetKVConfigRequestHeader(namespace=ORDER_TOPIC_CONFIG, key=full)
        try:
            answer = await self._core.nameserver(RequestCode.GET_KV_CONFIG, header)
        except Refused as error:
            if error.code != ResponseCode.QUERY_NOT_FOUND:
                raise
            return {}
        value = from_ext_fields(headers.kv.GetKVConfigResponseHeader, answer.ext_fields).value or ""
        return {broker: queues for broker, _, queues in (part.partition(":") for part in value.split(";")) if broker}

    async def _keep_order(self, full: str, queues: Mapping[str, str]) -> None:
        """The fixed list of queues that keeps an ordered topic in order while a broker is away."""
        value = ";".join(f"{broker}:{count}" for broker, count in sorted(queues.items()))
        header = headers.kv.PutKVConfigRequestHeader(namespace=ORDER_TOPIC_CONFIG, key=full, value=value)
        await self._core.instance.nameservers.call_all(RequestCode.PUT_KV_CONFIG, header, timeout=5.0)


def _change(name: str, value: str | None) -> str:
    """Of an attribute, as brokers take it."""
    return f"-{name}" if value is None else f"+{name}={value}"


def _is_users(name: str) -> bool:
    return not (is_system_topic(name) or is_retry_topic(name) or is_dlq_topic(name) or name.endswith("_REPLY_TOPIC"))
