"""The fixed fields of a record as plain values, under the names that RocketMQ's JSON has for them."""

from __future__ import annotations

from typing import Any

from sprocketmq.protocol.record.hosts import host_text
from sprocketmq.protocol.record.ids import offset_message_id
from sprocketmq.protocol.record.record import Record


def record_fields(record: Record) -> dict[str, Any]:
    return {
        "topic": record.topic,
        "queueId": record.queue_id,
        "queueOffset": record.queue_offset,
        "physicalOffset": record.commit_offset,
        "size": record.size,
        "flag": record.flag,
        "sysFlag": record.sys_flag,
        "bodyCRC": record.body_crc,
        "bornTimestamp": record.born_timestamp,
        "bornHost": host_text(record.born_host),
        "storeTimestamp": record.store_timestamp,
        "storeHost": host_text(record.store_host),
        "reconsumeTimes": record.reconsume_times,
        "preparedTransactionOffset": record.prepared_transaction_offset,
        "msgId": offset_message_id(record.store_host, record.commit_offset),
    }
