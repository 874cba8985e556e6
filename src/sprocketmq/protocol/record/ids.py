"""The two ids of a message, both upper-case hex.

offset id := host commit_offset:i64                                          where it is stored, made by the broker
unique id := address:4|16 pid:u16 instance:u32 millis:u32 counter:u16        made by the producer, kept in UNIQ_KEY
millis    = since the first day of the current month, local time
"""

from __future__ import annotations

import os
import struct
import threading
import time
from collections.abc import Callable

from sprocketmq.errors import CommandError
from sprocketmq.protocol.fields import quoted
from sprocketmq.protocol.record.hosts import IPV4_SIZE, IPV6_SIZE

_I64 = struct.Struct(">q")

MAX_BLOCK = 0x10000  # ids with one moment


def offset_message_id(store_host: bytes, commit_offset: int) -> str:
    """`store_host` as a record holds it, see `hosts`."""
    return (store_host + _I64.pack(commit_offset)).hex().upper()


def decode_offset_message_id(message_id: str) -> tuple[bytes, int]:
    """The store host, raw, and the commit offset."""
    raw = _unhex(message_id, (IPV4_SIZE + _I64.size, IPV6_SIZE + _I64.size))
    return raw[: -_I64.size], _I64.unpack(raw[-_I64.size :])[0]


class UniqueIds:
    """Makes unique ids for one producer. A forked child goes on with ids of its own. Threads may share it."""

    def __init__(self, address: bytes, clock_ms: Callable[[], int], instance: int | None = None) -> None:
        self._address, self._clock_ms, self._instance = address, clock_ms, instance
        self._month_start, self._month_end = 0, 0
        self._counter, self._lock = 0, threading.Lock()
        self._start()

    def next(self) -> str:
        head, first = self.block(1)
        return f"{head}{first:04X}"

    def block(self, count: int) -> tuple[str, int]:
        """`count` ids of one moment: what they begin with, and the counter of the first; it goes on modulo 65,536.

        There are at most 65,536 at once, for then the counter comes round.
        """
        if not 0 <= count <= MAX_BLOCK:
            raise ValueError(f"{count} ids at once")
        head = self._head()
        with self._lock:
            first = self._counter
            self._counter = (first + count) % MAX_BLOCK
        return head, first

    def _head(self) -> str:
        """All of the next id but its counter."""
        if os.getpid() != self._pid:
            self._instance = None
            self._start()
        now = self._clock_ms()
        if not self._month_start <= now < self._month_end:
            self._month_start = month_start_ms(now)
            self._month_end = month_start_ms(self._month_start + 32 * 24 * 3600 * 1000)
        return f"{self._prefix}{now - self._month_start:08X}"

    def _start(self) -> None:
        self._pid = os.getpid()
        instance = int.from_bytes(os.urandom(4)) if self._instance is None else self._instance
        self._counter, self._lock = 0, threading.Lock()
        self._prefix = f"{self._address.hex().upper()}{self._pid & 0xFFFF:04X}{instance:08X}"


def month_start_ms(now_ms: int) -> int:
    """Midnight of the first day of the month, local time."""
    local = time.localtime(now_ms // 1000)
    return int(time.mktime((local.tm_year, local.tm_mon, 1, 0, 0, 0, 0, 0, -1))) * 1000


def _unhex(text: str, sizes: tuple[int, ...]) -> bytes:
    try:
        raw = bytes.fromhex(text)
    except ValueError:
        raw = b""
    if len(raw) not in sizes or 2 * len(raw) != len(text):  # fromhex skips blanks
        raise CommandError(f"no message id: {quoted(text)}")
    return raw
