# cython: annotation_typing=False
"""Message properties as text: `name \\x01 value \\x02`, repeated; and the names that RocketMQ keeps for itself.

A piece with an empty name or an empty value is dropped; of two with one name the later wins; a value may hold
\\x01; the last \\x02 may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

if not cython.compiled:
    from sprocketmq.hot.octets import cut, find, same, text

NAME_VALUE = "\x01"
PROPERTY = "\x02"
#: Parts the keys in KEYS. Nothing else does: a key may hold a tab or any other white space.
KEY_SEPARATOR = " "

KEYS = "KEYS"
TAGS = "TAGS"
WAIT = "WAIT"
DELAY = "DELAY"
RETRY_TOPIC = "RETRY_TOPIC"
REAL_TOPIC = "REAL_TOPIC"
REAL_QUEUE_ID = "REAL_QID"
TRANSACTION_PROPERTY = "TRAN_MSG"
PRODUCER_GROUP = "PGROUP"
MIN_OFFSET = "MIN_OFFSET"
MAX_OFFSET = "MAX_OFFSET"
BUYER_ID = "BUYER_ID"
TRANSFER_FLAG = "TRANSFER_FLAG"
CORRECTION_FLAG = "CORRECTION_FLAG"
MQ2_FLAG = "MQ2_FLAG"
ORIGIN_MESSAGE_ID = "ORIGIN_MESSAGE_ID"
RECONSUME_TIME = "RECONSUME_TIME"
MAX_RECONSUME_TIMES = "MAX_RECONSUME_TIMES"
MSG_REGION = "MSG_REGION"
TRACE_ON = "TRACE_ON"
UNIQUE_KEY = "UNIQ_KEY"
EXTEND_UNIQ_INFO = "EXTEND_UNIQ_INFO"
DUP_INFO = "DUP_INFO"
CONSUME_START_TIME = "CONSUME_START_TIME"
INNER_NUM = "INNER_NUM"
INNER_BASE = "INNER_BASE"
CHECK_IMMUNITY_TIME_IN_SECONDS = "CHECK_IMMUNITY_TIME_IN_SECONDS"
TRAN_PREPARED_QUEUE_OFFSET = "TRAN_PREPARED_QUEUE_OFFSET"
TRANSACTION_ID = "__transactionId__"
TRANSACTION_CHECK_TIMES = "TRANSACTION_CHECK_TIMES"
INSTANCE_ID = "INSTANCE_ID"
CORRELATION_ID = "CORRELATION_ID"
REPLY_TO_CLIENT = "REPLY_TO_CLIENT"
TTL = "TTL"
ARRIVE_TIME = "ARRIVE_TIME"
PUSH_REPLY_TIME = "PUSH_REPLY_TIME"
MESSAGE_TYPE = "MSG_TYPE"
CLUSTER = "CLUSTER"
POP_CK = "POP_CK"
POP_CK_OFFSET = "POP_CK_OFFSET"
FIRST_POP_TIME = "1ST_POP_TIME"
SHARDING_KEY = "__SHARDINGKEY"
FORWARD_QUEUE_ID = "PROPERTY_FORWARD_QUEUE_ID"
REDIRECT = "REDIRECT"
INNER_MULTI_DISPATCH = "INNER_MULTI_DISPATCH"
INNER_MULTI_QUEUE_OFFSET = "INNER_MULTI_QUEUE_OFFSET"
TRACE_CONTEXT = "TRACE_CONTEXT"
TIMER_DELAY_SEC = "TIMER_DELAY_SEC"
TIMER_DELAY_MS = "TIMER_DELAY_MS"
TIMER_DELIVER_MS = "TIMER_DELIVER_MS"
TIMER_OUT_MS = "TIMER_OUT_MS"
TIMER_ENQUEUE_MS = "TIMER_ENQUEUE_MS"
TIMER_DEQUEUE_MS = "TIMER_DEQUEUE_MS"
TIMER_ROLL_TIMES = "TIMER_ROLL_TIMES"
TIMER_DEL_UNIQKEY = "TIMER_DEL_UNIQKEY"
TIMER_DELAY_LEVEL = "TIMER_DELAY_LEVEL"
BORN_HOST = "__BORNHOST"
BORN_TIMESTAMP = "BORN_TIMESTAMP"
DLQ_ORIGIN_TOPIC = "DLQ_ORIGIN_TOPIC"
DLQ_ORIGIN_MESSAGE_ID = "DLQ_ORIGIN_MESSAGE_ID"
CRC32 = "__CRC32#"

#: What begins with this is never stored.
TRANSIENT_PREFIX = "__RMQ.TRANSIENT."

#: Names that a user's property may not have; nor may it begin with TRANSIENT_PREFIX.
SYSTEM_PROPERTIES = frozenset({
    KEYS, TAGS, WAIT, DELAY, RETRY_TOPIC, REAL_TOPIC, REAL_QUEUE_ID, TRANSACTION_PROPERTY, PRODUCER_GROUP, MIN_OFFSET,
    MAX_OFFSET, BUYER_ID, TRANSFER_FLAG, CORRECTION_FLAG, MQ2_FLAG, ORIGIN_MESSAGE_ID, RECONSUME_TIME,
    MAX_RECONSUME_TIMES, MSG_REGION, TRACE_ON, UNIQUE_KEY, EXTEND_UNIQ_INFO, DUP_INFO, CONSUME_START_TIME, INNER_NUM,
    INNER_BASE, CHECK_IMMUNITY_TIME_IN_SECONDS, TRAN_PREPARED_QUEUE_OFFSET, TRANSACTION_ID, TRANSACTION_CHECK_TIMES,
    INSTANCE_ID, CORRELATION_ID, REPLY_TO_CLIENT, TTL, ARRIVE_TIME, PUSH_REPLY_TIME, MESSAGE_TYPE, CLUSTER, POP_CK,
    POP_CK_OFFSET, FIRST_POP_TIME, SHARDING_KEY, FORWARD_QUEUE_ID, REDIRECT, INNER_MULTI_DISPATCH,
    INNER_MULTI_QUEUE_OFFSET, TRACE_CONTEXT, TIMER_DELAY_SEC, TIMER_DELAY_MS, TIMER_DELIVER_MS, TIMER_OUT_MS,
    TIMER_ENQUEUE_MS, TIMER_DEQUEUE_MS, TIMER_ROLL_TIMES, TIMER_DEL_UNIQKEY, TIMER_DELAY_LEVEL, BORN_HOST,
    BORN_TIMESTAMP, DLQ_ORIGIN_TOPIC, DLQ_ORIGIN_MESSAGE_ID, CRC32,
})  # fmt: skip


def encode_properties(properties: Mapping[str, str]) -> str:
    return "".join([f"{name}{NAME_VALUE}{value}{PROPERTY}" for name, value in properties.items()])


def split_keys(text: str) -> list[str]:
    """The keys in the value of KEYS; every reader of keys takes them from here, so that all find the same ones."""
    return [key for key in text.split(KEY_SEPARATOR) if key]


def decode_properties(source: str | bytes) -> dict[str, str]:
    """The properties in a text or in its UTF-8; bytes that are no UTF-8 become U+FFFD, as in Java."""
    data = source if isinstance(source, bytes) else source.encode("utf-8", "replace")
    try:
        return decode_octets(data)
    except UnicodeDecodeError:
        return decode_octets(data.decode("utf-8", "replace").encode())


def decode_octets(data: bytes) -> dict[str, str]:
    properties: dict[str, str] = {}
    p = data  # compiled, a pointer without bounds: each look stays before `end`, or before what `find` found
    at, end = 0, len(data)
    while at < end:
        stop = find(p, 2, at, end)
        if stop < 0:
            stop = end
        middle = find(p, 1, at, stop)
        if middle > at and middle + 1 < stop:
            properties[text(p, at, middle)] = text(p, middle + 1, stop)
        at = stop + 1
    return properties


def find_property(properties: bytes, name: bytes) -> bytes | None:
    """The value of `name`, found without decoding the others; None when it is not there."""
    p, q = properties, name
    at, end, length = 0, len(properties), len(name)
    found_at = found_end = -1
    while at < end:
        stop = find(p, 2, at, end)
        if stop < 0:
            stop = end
        if stop - at > length + 1 and p[at + length] == 1 and same(p, at, q, 0, length):
            found_at, found_end = at + length + 1, stop
        at = stop + 1
    return None if found_at < 0 else cut(p, found_at, found_end)
