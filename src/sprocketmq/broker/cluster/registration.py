"""Telling the nameservers who this broker is and which topics it has.

Every nameserver hears it at the start, every 30 seconds, and when topics change: a topic that is new or changed is
registered by itself at once, and so are several that come together. At the end the broker takes its leave. A
nameserver that does not answer, or refuses, is told everything a moment later, for it may have begun anew and know
nothing of this broker; the broker serves meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from zlib import crc32

from sprocketmq.broker.roles import Role, Roles
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.static_topic.mappings import QueueMappings
from sprocketmq.broker.tables.topics import TopicTable
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RemotingError, RequestRefused
from sprocketmq.logs import Events
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.compressed_registration import encode_compressed
from sprocketmq.protocol.bodies.mapping import TopicConfigAndMappingSerializeWrapper
from sprocketmq.protocol.bodies.registration import RegisterBrokerBody
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields, to_ext_fields
from sprocketmq.protocol.headers.nameserver import (
    RegisterBrokerRequestHeader,
    RegisterBrokerResponseHeader,
    UnRegisterBrokerRequestHeader,
)
from sprocketmq.protocol.permissions import PERM_READ, PERM_WRITE
from sprocketmq.remoting import RemotingClient

events = Events("sprocketmq.broker.registration")

#: For the first registration the start waits so long, and for the last one the stop.
_PATIENCE_SECONDS = 3.0
#: Retry soon after a failure: a nameserver that was just started should not wait half a minute.
_RETRY_SECONDS = 2.0
#: A slave that does not know its master yet asks again so soon.
_LOOK_SECONDS = 0.5
#: RocketMQ takes a haMasterAddress of fewer characters for none.
_SHORTEST_ADDRESS = 6


class Registration:
    """`address` is what clients are told, `ha_address` what slaves are."""

    def __init__(
        self, settings: Settings, topics: TopicTable, mappings: QueueMappings, client: RemotingClient, roles: Roles
    ) -> None:
        self.address = ""
        self.ha_address = ""
        self._settings = settings
        self._roles = roles
        self._topics = topics
        self._mappings = mappings
        self._client = client
        self._changed: dict[str, TopicConfig] = {}
        self._wake = asyncio.Event()
        self._turn = asyncio.Lock()  # who waits for a turn behind another finds its topics registered by then
        self._all_due = False
        self._task: asyncio.Task[None] | None = None
        self._failing: set[str] = set()
        topics.on_change.append(self._topic_changed)

    @property
    def nameservers(self) -> tuple[str, ...]:
        return self._settings.current.nameservers

    async def start(self, address: str, ha_address: str) -> None:
        """Register everywhere; what has not answered after a few seconds is tried again in the background."""
        self.address, self.ha_address = address, ha_address
        if not self.nameservers:
            return
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await self.register_all()
        except TimeoutError:
            events.warning("nameservers are slow", addresses=",".join(self.nameservers))
            self.soon()
        self._task = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None
            await self._everywhere(self._unregister, _PATIENCE_SECONDS)

    async def register_all(self) -> None:
        self._changed.clear()
        if self._roles.current.role is Role.FENCED:
            self._all_due = True
            return
        await self._everywhere(lambda name: self._register(name, self._topics.configs))

    async def announce(self) -> None:
        """Register what has changed, and return when the nameservers know; one that is slow hears of it later."""
        if self._task is None:
            return
        async with self._turn:
            await self._register_changes(_PATIENCE_SECONDS)
        if self._failing:
            self.soon()

    async def _register_changes(self, timeout: float | None = None) -> None:
        changed, self._changed = self._changed, {}
        if self._roles.current.role is Role.FENCED:  # nobody is to look for it here before it has a role
            self._all_due = True
            self._wake.clear()
            return
        topics = self._topics.configs if self._all_due else changed
        self._all_due = False
        self._wake.clear()
        if topics:
            await self._everywhere(lambda name: self._register(name, topics), timeout)

    def soon(self) -> None:
        """Register everything in this turn of the loop or the next."""
        self._all_due = True
        self._wake.set()

    def _topic_changed(self, config: TopicConfig | None) -> None:
        if config is None:
            self._all_due = True
        else:
            self._changed[config.topic_name] = config
        self._wake.set()

    async def _run(self) -> None:
        while True:
            try:
                await self._rest()
                async with self._turn:
                    await self._register_changes()
            except Exception as error:  # noqa: BLE001 - without this task the nameservers forget the broker
                events.error("registration failed", error)
                self._all_due = True
                await asyncio.sleep(_RETRY_SECONDS)

    async def _rest(self) -> None:
        """Until the next registration is due, or a topic changes."""
        try:
            async with asyncio.timeout(self._pause()):
                await self._wake.wait()
        except TimeoutError:
            self._all_due = True
        self._wake.clear()

    def _pause(self) -> float:
        standing = self._roles.current
        if self._failing:
            return _RETRY_SECONDS
        unknown = standing.is_slave and not (standing.master_address and standing.ha_address)
        if unknown and not self._settings.current.enable_controller_mode:
            return _LOOK_SECONDS
        return min(max(self._settings.current.register_name_server_period / 1000, 10), 60)

    async def _everywhere(self, act: Callable[[str], Awaitable[None]], timeout: float | None = None) -> None:
        async def attempt(name: str) -> None:
            try:
                async with asyncio.timeout(timeout):
                    await act(name)
                self._failing.discard(name)
            except (RemotingError, TimeoutError) as error:
                if name not in self._failing:
                    events.warning("nameserver not reached", address=name, reason=error)
                self._failing.add(name)
            except RequestRefused as error:
                if name not in self._failing:
                    events.error("registration refused", address=name, code=error.code, remark=error.remark)
                self._failing.add(name)
            except Exception as error:  # noqa: BLE001 - an answer that nobody expected, say: it is tried again
                events.error("registration failed", error, address=name)
                self._failing.add(name)

        await asyncio.gather(*(attempt(name) for name in self.nameservers))

    async def _register(self, nameserver: str, topics: dict[str, TopicConfig]) -> None:
        config = self._settings.current
        body = self._body(topics)
        header = RegisterBrokerRequestHeader(
            broker_name=config.broker_name,
            broker_addr=self.address,
            cluster_name=config.broker_cluster_name,
            ha_server_addr=self.ha_address,
            broker_id=self._roles.current.broker_id,
            enable_acting_master=False,
            compressed=config.compressed_register,
            body_crc32=crc32(body) & 0x7FFFFFFF,
        )
        request = Command(RequestCode.REGISTER_BROKER, ext_fields=to_ext_fields(header), body=body)
        response = await self._client.call(nameserver, request, config.register_broker_timeout_mills / 1000)
        if response.code != ResponseCode.SUCCESS:
            raise RequestRefused(response.code, response.remark or "")
        self._learn(from_ext_fields(RegisterBrokerResponseHeader, response.ext_fields or {}))

    def _learn(self, told: RegisterBrokerResponseHeader) -> None:
        """Where the master is. A nameserver that knows of none proves nothing: the one we know may be there still."""
        if self._settings.current.enable_controller_mode:
            return  # there a controller says who the master is, and the master where its log is
        if told.master_addr and told.master_addr != self.address:
            fixed = len(self._settings.current.ha_master_address) >= _SHORTEST_ADDRESS
            self._roles.follow(told.master_addr, None if fixed else told.ha_server_addr or None)

    def _body(self, topics: dict[str, TopicConfig]) -> bytes:
        wrapper = TopicConfigAndMappingSerializeWrapper(
            topic_config_table={name: self._as_permitted(config) for name, config in topics.items()},
            data_version=self._topics.data_version,
            topic_queue_mapping_info_map=self._mappings.infos(topics),
            mapping_data_version=self._mappings.data_version,
        )
        body = RegisterBrokerBody(topic_config_serialize_wrapper=wrapper)
        return encode_compressed(body) if self._settings.current.compressed_register else codec.encode(body)

    def _as_permitted(self, config: TopicConfig) -> TopicConfig:
        """A broker that may not be read or written takes its topics along."""
        granted = self._settings.current.broker_permission
        if granted & (PERM_READ | PERM_WRITE) == PERM_READ | PERM_WRITE:
            return config
        return replace(config, perm=config.perm & granted)

    async def _unregister(self, nameserver: str) -> None:
        config = self._settings.current
        header = UnRegisterBrokerRequestHeader(
            broker_name=config.broker_name,
            broker_addr=self.address,
            cluster_name=config.broker_cluster_name,
            broker_id=self._roles.current.broker_id,
        )
        request = Command(RequestCode.UNREGISTER_BROKER, ext_fields=to_ext_fields(header))
        await self._client.call(nameserver, request, _PATIENCE_SECONDS)
