"""Consumer groups: create and change, list, show, delete, and forbid a group to read a topic."""

from __future__ import annotations

from dataclasses import replace

from sprocketmq.broker.admin.attributes import GROUP_ATTRIBUTES, altered
from sprocketmq.broker.metrics.stats import Stats
from sprocketmq.broker.tables.groups import GroupTable
from sprocketmq.broker.tables.offsets import ConsumerOffsets
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.logs import Events
from sprocketmq.protocol import names
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.group import GroupForbidden, SubscriptionGroupConfig, SubscriptionGroupList
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields
from sprocketmq.protocol.headers.group import (
    DeleteSubscriptionGroupRequestHeader,
    GetSubscriptionGroupConfigRequestHeader,
    UpdateGroupForbiddenRequestHeader,
)
from sprocketmq.protocol.permissions import PERM_READ
from sprocketmq.remoting import Connection, Peer, ProcessorTable, Reply
from sprocketmq.store.files.config_files import SubscriptionGroups

events = Events("sprocketmq.broker.admin.groups")


class GroupProcessors:
    def __init__(self, groups: GroupTable, offsets: ConsumerOffsets, stats: Stats) -> None:
        self._groups = groups
        self._offsets = offsets
        self._stats = stats

    def add_to(self, table: ProcessorTable) -> None:
        table.add_slow(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, self.put)
        table.add_slow(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, self.put_list)
        table.add_slow(RequestCode.DELETE_SUBSCRIPTIONGROUP, self.delete)
        table.add(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, self.all)
        table.add(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, self.get)
        table.add_slow(RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, self.forbid)

    async def put(self, connection: Connection, request: Command) -> Reply:
        config = codec.decode(SubscriptionGroupConfig, request.body)
        special = self._stats.special
        with special.making(special.group_ms, names.is_system_group(config.group_name)):
            await self._put([self._checked(config)], connection.peer)
        return request.reply()

    async def put_list(self, connection: Connection, request: Command) -> Reply:
        configs = codec.decode(SubscriptionGroupList, request.body).group_config_list
        await self._put([self._checked(config) for config in configs], connection.peer)
        return request.reply()

    def _checked(self, config: SubscriptionGroupConfig) -> SubscriptionGroupConfig:
        """The group with its attributes worked out, when it may be made so."""
        _check_name(config.group_name)
        if config.retry_queue_nums < 0:
            raise _refused(f"group {config.group_name} cannot have {config.retry_queue_nums} retry queues")
        known = self._groups.configs.get(config.group_name)
        current = None if known is None else known.attributes
        return replace(config, attributes=altered(GROUP_ATTRIBUTES, current, config.attributes))

    async def _put(self, configs: list[SubscriptionGroupConfig], peer: Peer) -> None:
        await self._groups.put_all(configs)
        for config in configs:
            events.info("group put", group=config.group_name, peer=peer)

    async def delete(self, connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(DeleteSubscriptionGroupRequestHeader, request.ext_fields)
        if names.is_system_group(header.group_name):
            raise _refused(f"{header.group_name} is a group of the system")
        known = await self._groups.delete(header.group_name)
        if header.clean_offset:
            self._offsets.forget_group(header.group_name)
            self._offsets.saver.soon()
        self._stats.forget_group(header.group_name)
        events.info(
            "group deleted", group=header.group_name, known=known, offsets_too=header.clean_offset,
            peer=connection.peer,
        )  # fmt: skip
        return request.reply()

    def all(self, _connection: Connection, request: Command) -> Reply:
        groups = self._groups
        body = SubscriptionGroups(
            subscription_group_table=groups.configs, forbidden_table=groups.forbidden, data_version=groups.data_version
        )
        return request.reply(body=codec.encode(body))

    def get(self, _connection: Connection, request: Command) -> Reply:
        group = from_ext_fields(GetSubscriptionGroupConfigRequestHeader, request.ext_fields).group
        config = self._groups.configs.get(group)
        if config is None:
            raise RequestRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"no group {group}")
        return request.reply(body=codec.encode(config))

    async def forbid(self, connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(UpdateGroupForbiddenRequestHeader, request.ext_fields)
        group, topic = header.group, header.topic
        if header.readable is not None:
            await self._groups.forbid(group, topic, PERM_READ, forbidden=not header.readable)
            events.info(
                "group permission set", group=group, topic=topic, readable=header.readable, peer=connection.peer
            )
        readable = not self._groups.is_forbidden(group, topic, PERM_READ)
        return request.reply(body=codec.encode(GroupForbidden(group=group, topic=topic, readable=readable)))


def _check_name(group: str) -> None:
    fault = names.group_fault(group)
    if fault is not None:
        raise _refused(fault)


def _refused(remark: str) -> RequestRefused:
    return RequestRefused(ResponseCode.INVALID_PARAMETER, remark)
