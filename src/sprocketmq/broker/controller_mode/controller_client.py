"""The controllers, as one of their brokers sees them: one of them leads and is asked, all of them hear heartbeats."""

from __future__ import annotations

import asyncio
from functools import partial

from sprocketmq.broker.settings import Settings
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RemotingError, RequestRefused
from sprocketmq.logs import Events
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields, to_ext_fields
from sprocketmq.protocol.headers.controller import GetMetaDataResponseHeader
from sprocketmq.protocol.headers.nameserver import BrokerHeartbeatRequestHeader
from sprocketmq.remoting import RemotingClient

events = Events("sprocketmq.broker.controller_mode")

_CALL_SECONDS = 1.0


class ControllerClient:
    """`leader` is empty while nobody is known to lead."""

    def __init__(self, settings: Settings, client: RemotingClient) -> None:
        self.leader = ""
        self._settings = settings
        self._client = client
        self._found_at = 0.0
        self._beating: dict[str, asyncio.Task[None]] = {}

    async def find_leader(self) -> str:
        """Ask one after the other who leads. Raises RemotingError when nobody knows."""
        for address in self._settings.current.controllers:
            try:
                request = Command(RequestCode.CONTROLLER_GET_METADATA_INFO)
                answer = await self._client.call(address, request, _CALL_SECONDS)
            except RemotingError:
                continue
            told = from_ext_fields(GetMetaDataResponseHeader, answer.ext_fields or {})
            if answer.code == ResponseCode.SUCCESS and told.controller_leader_address:
                if self.leader != told.controller_leader_address:
                    events.info("controller leads", address=told.controller_leader_address)
                self.leader = told.controller_leader_address
                self._found_at = asyncio.get_running_loop().time()
                return self.leader
        raise RemotingError("no controller leads")

    async def look_for_leader(self) -> None:
        """Every `syncControllerMetadataPeriod`: another may lead, though the old one answers still."""
        now = asyncio.get_running_loop().time()
        if now - self._found_at > self._settings.current.sync_controller_metadata_period / 1000:
            await self.find_leader()

    async def ask(self, code: RequestCode, *headers: object, body: bytes = b"") -> Command:
        """The leader's answer, whatever it says. Raises RemotingError when there is none."""
        leader = self.leader or await self.find_leader()
        fields: dict[str, str] = {}
        for header in headers:
            fields |= to_ext_fields(header)
        try:
            answer = await self._client.call(leader, Command(code, ext_fields=fields, body=body), _CALL_SECONDS)
        except RemotingError:
            self.leader = ""
            raise
        if answer.code == ResponseCode.CONTROLLER_NOT_LEADER:
            self.leader = ""
            raise RemotingError(f"{leader} does not lead any more")
        return answer

    async def demand(self, code: RequestCode, *headers: object, body: bytes = b"") -> Command:
        """The same, where anything but success is RequestRefused."""
        answer = await self.ask(code, *headers, body=body)
        if answer.code != ResponseCode.SUCCESS:
            raise RequestRefused(answer.code, answer.remark or "")
        return answer

    def beat(self, heartbeat: BrokerHeartbeatRequestHeader) -> None:
        """Tell every controller that this broker lives; one that is not reached holds up no other."""
        for address in dict.fromkeys((*self._settings.current.controllers, *filter(None, [self.leader]))):
            command = Command(RequestCode.BROKER_HEARTBEAT, ext_fields=to_ext_fields(heartbeat))
            connection = self._client.connected(address)
            if connection is not None:
                connection.send(command)
            elif address not in self._beating:
                task = self._beating[address] = asyncio.ensure_future(self._connect_and_beat(address, command))
                task.add_done_callback(partial(self._beaten, address))

    def _beaten(self, address: str, _task: asyncio.Task[None]) -> None:
        self._beating.pop(address, None)

    async def _connect_and_beat(self, address: str, command: Command) -> None:
        try:
            await self._client.oneway(address, command)
        except RemotingError as error:
            events.debug("controller not reached", address=address, reason=error)

    async def stop(self) -> None:
        tasks = list(self._beating.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
