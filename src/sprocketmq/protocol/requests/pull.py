# cython: annotation_typing=False
"""Pull requests and their replies, straight from and to the bytes of a frame.

PULL_MESSAGE and LITE_PULL_MESSAGE have the same fields; the first nine in NAMES are required. The last is ours: who
reads whole ranges says `bulk` 1, and a broker that knows the word gives more at once than to consumers; others pass
over it.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.binary_header import binary_reply, json_reply
from sprocketmq.protocol.frame.json_header import encode_json_header
from sprocketmq.protocol.requests.fields import FieldwiseRequest

if not cython.compiled:
    from sprocketmq.hot.octets import Octets, cut, text
    from sprocketmq.protocol.frame.binary_header import decimal, integer

NAMES = (
    "consumerGroup", "topic", "queueId", "queueOffset", "maxMsgNums", "sysFlag", "commitOffset",
    "suspendTimeoutMillis", "subVersion", "subscription", "expressionType", "maxMsgBytes", "requestSource",
    "proxyFrowardClientId", "bulk",
)  # fmt: skip

if not cython.compiled:
    #: Bits of a pull's sys_flag.
    COMMIT_OFFSET = 1
    SUSPEND = 2
    SUBSCRIPTION = 4

#: The bytes that a pull may ask for at most, and what one asks for that names no number.
MAX_BYTES = 0x7FFFFFFF

_NUMBER_OF = {name.encode(): number for number, name in enumerate(NAMES)}


class PullRequest(FieldwiseRequest):
    """What a consumer asks for. A value that was not sent is None."""

    __slots__ = (
        "bulk", "commit_offset", "consumer_group", "expression_type", "max_msg_bytes", "max_msg_nums",
        "proxy_froward_client_id", "queue_id", "queue_offset", "request_source", "sub_version",
        "subscription", "suspend_timeout_millis", "sys_flag", "topic",
    )  # fmt: skip

    consumer_group: str
    topic: str
    queue_id: int
    queue_offset: int
    max_msg_nums: int
    sys_flag: int
    commit_offset: int
    suspend_timeout_millis: int
    sub_version: int
    subscription: str | None
    expression_type: str | None
    max_msg_bytes: int | None
    request_source: int | None
    proxy_froward_client_id: str | None
    bulk: int | None

    def __init__(self) -> None:
        self.title = "pull request"
        self.names = NAMES
        self.required = 9
        self.subscription = None
        self.expression_type = None
        self.max_msg_bytes = None
        self.request_source = None
        self.proxy_froward_client_id = None
        self.bulk = None

    def number_of(self, p: Octets, at: int, end: int) -> int:
        return _NUMBER_OF.get(cut(p, at, end), -1)

    def take(self, number: int, p: Octets, at: int, end: int) -> None:
        if number == 0:
            self.consumer_group = text(p, at, end)
        elif number == 1:
            self.topic = text(p, at, end)
        elif number == 2:
            self.queue_id = integer(p, at, end, 32)
        elif number == 3:
            self.queue_offset = integer(p, at, end, 64)
        elif number == 4:
            self.max_msg_nums = integer(p, at, end, 32)
        elif number == 5:
            self.sys_flag = integer(p, at, end, 32)
        elif number == 6:
            self.commit_offset = integer(p, at, end, 64)
        elif number == 7:
            self.suspend_timeout_millis = integer(p, at, end, 64)
        elif number == 8:
            self.sub_version = integer(p, at, end, 64)
        elif number == 9:
            self.subscription = text(p, at, end)
        elif number == 10:
            self.expression_type = text(p, at, end)
        elif number == 11:
            self.max_msg_bytes = integer(p, at, end, 32)
        elif number == 12:
            self.request_source = integer(p, at, end, 32)
        elif number == 13:
            self.proxy_froward_client_id = text(p, at, end)
        else:
            self.bulk = integer(p, at, end, 32)


def decode_pull(command: Command) -> PullRequest:
    """The request in a command of code 11 or 361, in either serialization; CommandError names what is wrong."""
    request = PullRequest()
    request.read(command)
    return request


def encode_pull_reply_head(
    request: Command,
    code: int,
    remark: str | None,
    suggest_which_broker_id: int,
    next_begin_offset: int,
    min_offset: int,
    max_offset: int,
    body_length: int,
    topic_sys_flag: int = 0,
    group_sys_flag: int = 0,
    forbidden_type: int | None = None,
) -> bytes:
    """The reply frame up to its body, of which the caller sends `body_length` bytes after it."""
    pairs = [
        b"suggestWhichBrokerId", decimal(suggest_which_broker_id),
        b"nextBeginOffset", decimal(next_begin_offset),
        b"minOffset", decimal(min_offset),
        b"maxOffset", decimal(max_offset),
        b"topicSysFlag", decimal(topic_sys_flag),
        b"groupSysFlag", decimal(group_sys_flag),
    ]  # fmt: skip
    if forbidden_type is not None:
        pairs.append(b"forbiddenType")
        pairs.append(decimal(forbidden_type))
    if request.serialize_type != 0:
        return binary_reply(request.opaque, code, remark, pairs, body_length)
    if remark is None:
        return json_reply(request.opaque, code, pairs, body_length)
    fields = {pairs[index].decode(): pairs[index + 1].decode() for index in range(0, len(pairs), 2)}
    header = encode_json_header(request.reply(code, remark, ext_fields=fields))
    return (4 + len(header) + body_length).to_bytes(4, "big") + len(header).to_bytes(4, "big") + header
