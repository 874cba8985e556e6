# cython: annotation_typing=False, auto_pickle=True
"""Messages as users see them: what they send, what they get, and the receipt in between.

Users send them to other processes, so the compiled class has code to be pickled.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, NamedTuple

from sprocketmq.client.errors import InvalidMessage
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.record.properties import SYSTEM_PROPERTIES

MAX_BODY_BYTES = 4 * 1024 * 1024
MAX_DELAY_LEVEL = 18
#: The default of numbers. Compared by `is`, so that what was not given needs no look; a 0 that was given is the same
#: object in CPython, and where it is another one it is looked at and found good.
_ZERO = 0
_BODY_TYPES = (bytes, bytearray, memoryview)

#: What follows a message's id in its properties: whether the broker is to answer only when the message is stored.
WAIT = "\x02WAIT\x01true\x02"
NO_WAIT = "\x02WAIT\x01false\x02"
_NO_KEYS: tuple[str, ...] = ()
_NO_PROPERTIES: Mapping[str, str] = {}


def _parameters(
    topic: str,
    body: bytes,
    *,
    tag: str | None = None,
    keys: str | Sequence[str] = _NO_KEYS,
    properties: Mapping[str, str] = _NO_PROPERTIES,
    sharding_key: str | None = None,
    delay_level: int = _ZERO,
    delay: timedelta | float | None = None,
    deliver_at: datetime | None = None,
    flag: int = _ZERO,
    wait_stored: bool = True,
) -> None:
    """Those of a Message, for `help` and editors: its compiled form cannot tell them."""


class Message:
    """A message to send.

    >>> Message("orders", b"one apple", tag="new", keys=["42"])
    <Message orders tag=new keys=('42',) 9 bytes>

    `keys` find it again by `sprocket message find`; `sharding_key` keeps messages of one key in one queue, in order.
    At most one of `delay_level` (1 to 18), `delay` (a timedelta, or seconds) and `deliver_at` puts off its delivery.
    A field of the wrong type raises InvalidMessage here; the rest is looked at when the message is sent.
    """

    __signature__ = inspect.signature(_parameters)
    __slots__ = (
        "body", "delay", "delay_level", "deliver_at", "flag", "keys", "properties", "sharding_key", "tag", "topic",
        "wait_stored",
    )  # fmt: skip

    def __init__(
        self,
        topic: str,
        body: bytes,
        *,
        tag: str | None = None,
        keys: str | Sequence[str] = _NO_KEYS,
        properties: Mapping[str, str] = _NO_PROPERTIES,
        sharding_key: str | None = None,
        delay_level: int = _ZERO,
        delay: timedelta | float | None = None,
        deliver_at: datetime | None = None,
        flag: int = _ZERO,
        wait_stored: bool = True,
    ) -> None:
        if type(topic) is not str or type(body) is not bytes:
            check_type("topic", topic, (str,))
            check_type("body", body, _BODY_TYPES)
        if tag is not None and type(tag) is not str:
            check_type("tag", tag, (str,))
        if keys is not _NO_KEYS:
            keys = checked_keys(keys)
        if properties is not _NO_PROPERTIES:
            check_properties_types(properties)
        if sharding_key is not None and type(sharding_key) is not str:
            check_type("sharding_key", sharding_key, (str,))
        if delay_level is not _ZERO:
            check_level(delay_level)
        if delay is not None:
            delay = checked_delay(delay)
        if deliver_at is not None:
            check_type("deliver_at", deliver_at, (datetime,))
        if flag is not _ZERO:
            check_flag(flag)
        self.topic = topic
        self.body = body
        self.tag = tag
        self.keys = keys
        self.properties = properties
        self.sharding_key = sharding_key
        self.delay_level = delay_level
        self.delay = delay
        self.deliver_at = deliver_at
        self.flag = flag
        self.wait_stored = wait_stored

    def __repr__(self) -> str:
        tag = f" tag={self.tag}" if self.tag else ""
        keys = f" keys={tuple(self.keys)}" if self.keys else ""
        return f"<Message {self.topic}{tag}{keys} {len(self.body)} bytes>"

    @property
    def is_delayed(self) -> bool:
        return self._is_delayed()

    def _is_delayed(self) -> bool:
        return self.delay_level > 0 or self.delay is not None or self.deliver_at is not None

    def validate(self, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        """Raises InvalidMessage for what a broker would refuse, or would misread."""
        if not self.topic:
            raise InvalidMessage("a message needs a topic")
        if type(self.body) is not bytes and not isinstance(self.body, (bytes, bytearray, memoryview)):
            raise InvalidMessage(f"a body is bytes, not {type(self.body).__name__}")
        if not 0 < len(self.body) <= max_body_bytes:
            raise InvalidMessage(f"a body has 1 to {max_body_bytes} bytes, not {len(self.body)}")
        if self._is_delayed() and (self.delay_level > 0) + (self.delay is not None) + (self.deliver_at is not None) > 1:
            raise InvalidMessage("delay_level, delay and deliver_at exclude one another")
        if self.properties or self.keys or self.tag or self.sharding_key:
            self._validate_texts()

    def _validate_texts(self) -> None:
        for name, value in self.properties.items():
            if not name or not value:
                raise InvalidMessage(f"properties: {name!r} needs a name and a text that is not empty")
            if type(name) is not str or type(value) is not str:
                check_properties_types(self.properties)
            if name in SYSTEM_PROPERTIES:
                raise InvalidMessage(f"property {name!r} belongs to RocketMQ")
            if "\x01" in name or "\x02" in name or "\x02" in value:
                raise InvalidMessage(f"property {name!r} holds a separator (U+0001 or U+0002)")
        for text in (self.tag or "", self.sharding_key or "", *checked_keys(self.keys)):
            if "\x01" in text or "\x02" in text:
                raise InvalidMessage(f"{text!r} holds a separator (U+0001 or U+0002)")

    def no_unicode(self) -> InvalidMessage:
        """For whoever finds that the properties cannot be written as UTF-8: which of them it is."""
        pairs = [("tag", self.tag), ("sharding_key", self.sharding_key), *(("each of keys", key) for key in self.keys)]
        pairs += [(f"property {name!r}", name + value) for name, value in self.properties.items()]
        for field, text in pairs:
            if text and any("\ud800" <= character <= "\udfff" for character in text):
                return InvalidMessage(f"{field} holds half a character, which UTF-8 cannot carry: {text!r:.80}")
        return InvalidMessage("a property that a hook has added holds half a character, which UTF-8 cannot carry")

    def property_text(self, unique_key: str, extra: str = "") -> str:
        """The properties as they travel; `extra` is more of the same text."""
        return "UNIQ_KEY\x01" + unique_key + (WAIT if self.wait_stored else NO_WAIT) + extra + self.own_text()

    def own_text(self) -> str:
        """The properties that tell this message from others, as they travel; often there are none."""
        text = ""
        if self.tag:
            text += f"TAGS\x01{self.tag}\x02"
        if self.keys:
            text += f"KEYS\x01{' '.join(self.keys)}\x02"
        if self.sharding_key:
            text += f"__SHARDINGKEY\x01{self.sharding_key}\x02"
        if self._is_delayed():
            text += self._delay_text()
        if self.properties:
            for name, value in self.properties.items():
                text += f"{name}\x01{value}\x02"
        return text

    def _delay_text(self) -> str:
        if self.delay_level > 0:
            return f"DELAY\x01{self.delay_level}\x02"
        if self.delay is not None:
            return f"TIMER_DELAY_MS\x01{int(self.delay.total_seconds() * 1000)}\x02"
        assert self.deliver_at is not None
        return f"TIMER_DELIVER_MS\x01{int(self.deliver_at.timestamp() * 1000)}\x02"


def check_type(field: str, value: object, types: tuple[type, ...]) -> None:
    """Raises InvalidMessage that names the field, and both what it takes and what it got."""
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        wanted = " or ".join(each.__name__ for each in types)
        raise InvalidMessage(f"{field} is {wanted}, not {type(value).__name__}: {value!r:.80}")


def checked_keys(keys: Any) -> Sequence[str]:
    if type(keys) is not list and type(keys) is not tuple:
        if isinstance(keys, str):
            return (keys,)
        check_type("keys", keys, (str, Sequence))
    for key in keys:
        if type(key) is not str:
            check_type("each of keys", key, (str,))
    given: Sequence[str] = keys
    return given


def check_properties_types(properties: Any) -> None:
    if type(properties) is not dict:
        check_type("properties", properties, (Mapping,))
    for name, value in properties.items():
        if type(name) is not str:
            check_type("a name in properties", name, (str,))
        if type(value) is not str:
            check_type(f"property {name!r}", value, (str,))


def check_level(level: Any) -> None:
    check_type("delay_level", level, (int,))
    if not 0 <= level <= MAX_DELAY_LEVEL:
        raise InvalidMessage(f"delay_level is 1 to {MAX_DELAY_LEVEL}, not {level}; delay takes any time")


def check_flag(flag: Any) -> None:
    check_type("flag", flag, (int,))
    if not -(2**31) <= flag < 2**31:
        raise InvalidMessage(f"flag is a number of 32 bits, not {flag}")


def checked_delay(delay: Any) -> timedelta:
    """Seconds are as good as a timedelta."""
    check_type("delay", delay, (timedelta, float, int))
    try:
        made = delay if isinstance(delay, timedelta) else timedelta(seconds=delay)
    except (OverflowError, ValueError) as error:
        raise InvalidMessage(f"delay of {delay!r} seconds: {error}") from None
    if made < timedelta(0):
        raise InvalidMessage(f"delay is a time to wait, not {made}")
    return made


class SendStatus(Enum):
    """How safe an acknowledged message is. All but OK mean: stored, but less safely than was asked for."""

    OK = 0
    FLUSH_DISK_TIMEOUT = 10
    SLAVE_NOT_AVAILABLE = 11
    FLUSH_SLAVE_TIMEOUT = 12


_OK = SendStatus.OK  # to ask the enum for it takes longer than the rest of `ok`


class SendReceipt(NamedTuple):
    """A broker's answer to one message.

    `message_id` is the client's own id (UNIQ_KEY), `offset_message_id` names broker and place in its log.
    `recall_handle` can call back a delayed message where the broker offers that.
    """

    status: SendStatus
    message_id: str
    offset_message_id: str
    queue: MessageQueue
    queue_offset: int
    transaction_id: str | None = None
    recall_handle: str | None = None
    region_id: str | None = None

    @property
    def ok(self) -> bool:
        return self.status is _OK
