# cython: annotation_typing=False
"""Send requests, from and to the bytes of a frame.

SEND_MESSAGE spells its fields out, SEND_MESSAGE_V2 and SEND_BATCH_MESSAGE use one letter each, `a` to `n`. `NAME_OF` is
the only list of them: from it come this decoder, the encoder (`send_frame.py`) and the declared header. The number of a
field is the place of its letter; the first eight are required.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.codes import RequestCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.requests.fields import FieldwiseRequest

if not cython.compiled:
    from sprocketmq.hot.octets import Octets, cut, text
    from sprocketmq.protocol.frame.binary_header import integer

    # C's are an enum: with numbers that the compiler knows, `take` is a jump table.
    PRODUCER_GROUP, TOPIC, DEFAULT_TOPIC, DEFAULT_TOPIC_QUEUE_NUMS, QUEUE_ID, SYS_FLAG, BORN_TIMESTAMP, FLAG = range(8)
    PROPERTIES, RECONSUME_TIMES, UNIT_MODE, MAX_RECONSUME_TIMES, BATCH, BROKER_NAME = range(8, 14)
    FIELD_COUNT, LETTER_A = 14, 97

NAME_OF = {
    PRODUCER_GROUP: "producerGroup",
    TOPIC: "topic",
    DEFAULT_TOPIC: "defaultTopic",
    DEFAULT_TOPIC_QUEUE_NUMS: "defaultTopicQueueNums",
    QUEUE_ID: "queueId",
    SYS_FLAG: "sysFlag",
    BORN_TIMESTAMP: "bornTimestamp",
    FLAG: "flag",
    PROPERTIES: "properties",
    RECONSUME_TIMES: "reconsumeTimes",
    UNIT_MODE: "unitMode",
    MAX_RECONSUME_TIMES: "maxReconsumeTimes",
    BATCH: "batch",
    BROKER_NAME: "brokerName",
}
NAMES = tuple(NAME_OF.values())
LETTERS = tuple(chr(LETTER_A + number) for number in NAME_OF)
LETTER_OF = dict(zip(NAMES, LETTERS, strict=True))

_NUMBER_OF = {name.encode(): number for number, name in NAME_OF.items()}
_LONG_NAMES = int(RequestCode.SEND_MESSAGE)
_BATCH = int(RequestCode.SEND_BATCH_MESSAGE)


class SendRequest(FieldwiseRequest):
    """What a producer asks for. `properties` is text as bytes; a number that was not sent is 0, a name None."""

    __slots__ = (
        "batch", "born_timestamp", "broker_name", "default_topic", "default_topic_queue_nums", "flag",
        "long_names", "max_reconsume_times", "producer_group", "properties", "queue_id", "reconsume_times", "sys_flag",
        "topic", "unit_mode",
    )  # fmt: skip

    producer_group: str
    topic: str
    default_topic: str
    default_topic_queue_nums: int
    queue_id: int
    sys_flag: int
    born_timestamp: int
    flag: int
    properties: bytes
    reconsume_times: int
    unit_mode: bool
    max_reconsume_times: int | None
    batch: bool
    broker_name: str | None

    def __init__(self, long_names: bool) -> None:
        self.title = "send request"
        self.long_names = long_names
        self.names = NAMES if long_names else LETTERS
        self.required = 8
        self.properties = b""
        self.reconsume_times = 0
        self.unit_mode = False
        self.max_reconsume_times = None
        self.batch = False
        self.broker_name = None

    def number_of(self, p: Octets, at: int, end: int) -> int:
        if self.long_names:
            return _NUMBER_OF.get(cut(p, at, end), -1)
        number = p[at] - LETTER_A if end - at == 1 else -1
        return number if 0 <= number < FIELD_COUNT else -1

    def take(self, number: int, p: Octets, at: int, end: int) -> None:
        if number == PRODUCER_GROUP:
            self.producer_group = text(p, at, end)
        elif number == TOPIC:
            self.topic = text(p, at, end)
        elif number == DEFAULT_TOPIC:
            self.default_topic = text(p, at, end)
        elif number == DEFAULT_TOPIC_QUEUE_NUMS:
            self.default_topic_queue_nums = integer(p, at, end, 32)
        elif number == QUEUE_ID:
            self.queue_id = integer(p, at, end, 32)
        elif number == SYS_FLAG:
            self.sys_flag = integer(p, at, end, 32)
        elif number == BORN_TIMESTAMP:
            self.born_timestamp = integer(p, at, end, 64)
        elif number == FLAG:
            self.flag = integer(p, at, end, 32)
        elif number == PROPERTIES:
            self.properties = cut(p, at, end)
        elif number == RECONSUME_TIMES:
            self.reconsume_times = integer(p, at, end, 32)
        elif number == UNIT_MODE:
            self.unit_mode = is_true(p, at, end)
        elif number == MAX_RECONSUME_TIMES:
            self.max_reconsume_times = integer(p, at, end, 32)
        elif number == BATCH:
            self.batch = is_true(p, at, end)
        else:
            self.broker_name = text(p, at, end)


def decode_send(command: Command) -> SendRequest:
    """The request in a command of code 10, 310 or 320, in either serialization; CommandError names what is wrong."""
    request = SendRequest(command.code == _LONG_NAMES)
    request.read(command)
    if command.code == _BATCH:
        request.batch = True
    return request


def is_true(p: Octets, at: int, end: int) -> bool:
    """As Java's parseBoolean: `true` in any case, and nothing else."""
    return end - at == 4 and cut(p, at, end).lower() == b"true"
