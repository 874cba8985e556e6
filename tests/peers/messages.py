"""What tests give to a peer and get back, typed."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Queue:
    """A message queue, under the keys of RocketMQ's MessageQueue."""

    topic: str
    broker_name: str
    queue_id: int

    def to_json(self) -> dict[str, Any]:
        return {"topic": self.topic, "brokerName": self.broker_name, "queueId": self.queue_id}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Queue:
        return cls(value["topic"], value["brokerName"], value["queueId"])


@dataclass(frozen=True, slots=True)
class Subscription:
    """A topic by a tag expression, or by SQL92 when `sql` is given."""

    topic: str
    tags: str = "*"
    sql: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {"topic": self.topic, "tags": self.tags, "sql": self.sql}


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message for a peer to send.  The timers (`delay_ms` and below) need a 5.x client."""

    topic: str
    body: bytes
    tags: str | None = None
    keys: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    flag: int = 0
    delay_level: int | None = None
    wait_store_ok: bool | None = None
    delay_ms: int | None = None
    delay_sec: int | None = None
    deliver_ms: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "topic": self.topic,
            "body": b64encode(self.body).decode(),
            "tags": self.tags,
            "keys": self.keys,
            "properties": dict(self.properties),
            "flag": self.flag,
            "delayTimeLevel": self.delay_level,
            "waitStoreMsgOK": self.wait_store_ok,
            "delayTimeMs": self.delay_ms,
            "delayTimeSec": self.delay_sec,
            "deliverTimeMs": self.deliver_ms,
        }


@dataclass(frozen=True, slots=True)
class Received:
    """A message as the peer's client saw it; a field the client does not offer is None."""

    topic: str
    body: bytes
    tags: str | None
    keys: str | None
    properties: Mapping[str, str]
    flag: int
    msg_id: str | None = None
    offset_msg_id: str | None = None
    broker_name: str | None = None
    queue_id: int = -1
    queue_offset: int = -1
    commit_offset: int | None = None
    store_size: int | None = None
    sys_flag: int = 0
    body_crc: int | None = None
    born_timestamp: int = 0
    born_host: str | None = None
    store_timestamp: int = 0
    store_host: str | None = None
    reconsume_times: int = 0
    prepared_transaction_offset: int = 0
    transaction_id: str | None = None

    @property
    def queue(self) -> tuple[str | None, int]:
        return self.broker_name, self.queue_id

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Received:
        given = {name: value[key] for key, name in _RECEIVED_KEYS.items() if value.get(key) is not None}
        return cls(
            topic=value["topic"],
            body=b64decode(value.get("body") or ""),
            tags=value.get("tags"),
            keys=value.get("keys"),
            properties=value.get("properties") or {},
            flag=value.get("flag", 0),
            **given,
        )


_RECEIVED_KEYS = {
    "msgId": "msg_id",
    "offsetMsgId": "offset_msg_id",
    "brokerName": "broker_name",
    "queueId": "queue_id",
    "queueOffset": "queue_offset",
    "commitLogOffset": "commit_offset",
    "storeSize": "store_size",
    "sysFlag": "sys_flag",
    "bodyCRC": "body_crc",
    "bornTimestamp": "born_timestamp",
    "bornHost": "born_host",
    "storeTimestamp": "store_timestamp",
    "storeHost": "store_host",
    "reconsumeTimes": "reconsume_times",
    "preparedTransactionOffset": "prepared_transaction_offset",
    "transactionId": "transaction_id",
}


@dataclass(frozen=True, slots=True)
class Sent:
    """A peer's SendResult; `raw` has every field it offers."""

    status: str
    msg_id: str
    offset_msg_id: str | None
    queue: Queue
    queue_offset: int
    transaction_id: str | None
    local_state: str | None
    raw: Mapping[str, Any]

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Sent:
        return cls(
            value["sendStatus"],
            value["msgId"],
            value.get("offsetMsgId"),
            Queue.from_json(value["messageQueue"]),
            value["queueOffset"],
            value.get("transactionId"),
            value.get("localTransactionState"),
            value,
        )


def bodies(messages: Sequence[Received]) -> list[bytes]:
    return [message.body for message in messages]
