"""A broker in this process, with small files and a clock that a test moves, and a client that talks to it."""

from __future__ import annotations

import ssl as tls
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.config import BrokerConfig
from sprocketmq.broker.settings import Settings
from sprocketmq.codes import RequestCode
from sprocketmq.config import from_properties
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.heartbeat import ConsumerData, HeartbeatData, ProducerData, SubscriptionData
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.enums import ConsumeFromWhere, ConsumeType, MessageModel
from sprocketmq.protocol.record.properties import encode_properties
from sprocketmq.protocol.record.record import Record, decode_records
from sprocketmq.remoting import ProcessorTable, RemotingClient
from sprocketmq.store.config import StoreConfig
from sprocketmq.store.files.disk import Disk
from sprocketmq.store.files.files import Files

START_MS = 1_700_000_000_000
KEY = "7F0000010000000000000000000000AB"


class FakeClock:
    """Time passes when `now` is moved; `jump` sets the wall clock, and no time passes."""

    def __init__(self, now: int = START_MS) -> None:
        self.now = now
        self._set_by = 0

    def now_ms(self) -> int:
        return self.now

    def monotonic_ms(self) -> int:
        return self.now - self._set_by

    def jump(self, by_ms: int) -> None:
        self.now += by_ms
        self._set_by += by_ms


SMALL = {
    "listenPort": "0",
    "brokerIP1": "127.0.0.1",
    "bindAddress": "127.0.0.1",
    "brokerName": "broker-a",
    "mappedFileSizeCommitLog": str(1 << 20),
    "mappedFileSizeConsumeQueue": "20000",
    "maxHashSlotNum": "100",
    "maxIndexNum": "400",
    "brokerFastFailureEnable": "false",  # a slow machine is no reason to fail a test
    "syncFlushTimeout": "60000",  # nor is a slow disk
    "metricsExporterType": "DISABLE",  # its port is one for the whole machine
}


def make_settings(root: Path, **entries: str) -> Settings:
    all_entries = {**SMALL, "storePathRootDir": str(root), **entries}
    return Settings(from_properties(BrokerConfig, all_entries), StoreConfig.from_properties(all_entries), Disk())


def make_broker(root: Path, clock: FakeClock | None = None, files: Files | None = None, **entries: str) -> Broker:
    settings = make_settings(root, **entries)
    return Broker(settings.current, settings.store, files=files, clock=clock)


class Listening(Protocol):
    @property
    def address(self) -> str: ...


class Caller:
    """One client, with a connection of its own. `notices` are the requests that the broker sent to it."""

    def __init__(self, broker: Listening, ssl: tls.SSLContext | None = None) -> None:
        self.notices: list[Command] = []
        self.table = ProcessorTable()
        self.table.add(
            RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, lambda _connection, request: self.notices.append(request)
        )
        self.client = RemotingClient(self.table, ssl=ssl)
        self._address = broker.address

    async def __call__(
        self, code: int, body: bytes = b"", *, serialize_type: int = 0, version: int = 479, **fields: object
    ) -> Command:
        return await self.call(code, fields, body, serialize_type, version)

    async def call(
        self, code: int, fields: Mapping[str, object], body: bytes = b"", serialize_type: int = 0, version: int = 479
    ) -> Command:
        ext = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in fields.items()}
        request = Command(code, ext_fields=ext, body=body, version=version, serialize_type=serialize_type)
        return await self.client.call(self._address, request, 60)

    async def send(
        self, topic: str = "T", body: bytes = b"body", queue_id: int = 0, *, serialize_type: int = 0, sys_flag: int = 0,
        model: str = "TBW102", code: int = RequestCode.SEND_MESSAGE_V2, **properties: str,
    ) -> Command:  # fmt: skip
        text = encode_properties({"UNIQ_KEY": KEY, **properties})
        return await self(
            code, body, serialize_type=serialize_type, a="PG", b=topic, c=model, d=4, e=queue_id, f=sys_flag,
            g=START_MS, h=0, i=text, j=0, k=False, m=False, n="broker-a",
        )  # fmt: skip

    async def pull(
        self, topic: str = "T", offset: int = 0, *, group: str = "G", queue_id: int = 0, sys_flag: int = 4,
        count: int = 32, expression: str = "*", expression_type: str = "TAG", suspend_ms: int = 60_000,
        commit: int = 0, sub_version: int = 0, serialize_type: int = 0, **more: int,
    ) -> Command:  # fmt: skip
        asked = {
            "consumerGroup": group, "topic": topic, "queueId": queue_id, "queueOffset": offset, "maxMsgNums": count,
            "sysFlag": sys_flag, "commitOffset": commit, "suspendTimeoutMillis": suspend_ms, "subVersion": sub_version,
            "subscription": expression, "expressionType": expression_type, **more,
        }  # fmt: skip
        return await self.call(RequestCode.PULL_MESSAGE, asked, serialize_type=serialize_type)

    async def heartbeat(
        self, group: str = "G", client_id: str = "c1", *subscriptions: SubscriptionData,
        model: MessageModel = MessageModel.CLUSTERING, producers: tuple[str, ...] = (), fingerprint: int = 0,
        without_sub: bool = False,
    ) -> Command:  # fmt: skip
        consumer = ConsumerData(
            group_name=group,
            consume_type=ConsumeType.CONSUME_PASSIVELY,
            message_model=model,
            consume_from_where=ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
            subscription_data_set=subscriptions,
        )
        data = HeartbeatData(
            client_id=client_id,
            consumer_data_set=(consumer,) if group else (),
            producer_data_set=tuple(ProducerData(group_name=name) for name in producers),
            heartbeat_fingerprint=fingerprint,
            without_sub=without_sub,
        )
        return await self(RequestCode.HEART_BEAT, codec.encode(data))


def wants(topic: str = "T", text: str = "*", version: int = 1, kind: str = "TAG") -> SubscriptionData:
    return SubscriptionData(topic=topic, sub_string=text, sub_version=version, expression_type=kind)


def records(response: Command) -> list[Record]:
    return list(decode_records(bytes(response.body)))


def bodies(response: Command) -> list[bytes]:
    return [record.body for record in records(response)]


def fields(response: Command) -> dict[str, str]:
    return response.ext_fields or {}
