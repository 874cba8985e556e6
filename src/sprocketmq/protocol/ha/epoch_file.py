"""The text of `epochFileCheckpoint`, as RocketMQ 5.3.3 writes it.

2               number of entries
338835068       CRC-32 of the lines that follow, with their ends, without the sign bit; 0 is not checked
1-0             epoch-start
2-3021
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable

from sprocketmq.errors import BodyError, FrameError
from sprocketmq.protocol.ha.epochs import Epoch, EpochList

_ENTRY = re.compile(r"(\d{1,10})-(\d{1,19})")


def encode_epoch_file(epochs: Iterable[Epoch]) -> str:
    lines = [f"{epoch.epoch}-{epoch.start}\n" for epoch in epochs]
    text = "".join(lines)
    return f"{len(lines)}\n{_checksum(text)}\n{text}"


def decode_epoch_file(text: str) -> EpochList:
    """Raises BodyError when a line is missing, or is none, or the checksum is another."""
    lines = text.split("\n")
    if len(lines) < 2 or not lines[0].isdecimal() or not lines[1].isdecimal():
        raise BodyError("an epoch file begins with a number of entries and a checksum")
    entries = lines[2 : 2 + int(lines[0][:9])]
    if len(entries) != int(lines[0]):
        raise BodyError(f"an epoch file of {lines[0]} entries has {len(entries)}")
    checksum = int(lines[1])
    if checksum and checksum != _checksum("".join(f"{entry}\n" for entry in entries)):
        raise BodyError("the checksum of an epoch file is wrong")
    try:
        return EpochList([_entry(line) for line in entries])
    except FrameError as error:
        raise BodyError(str(error)) from None


def _entry(line: str) -> Epoch:
    if (match := _ENTRY.fullmatch(line)) is None:
        raise BodyError(f"{line[:40]!r} is no epoch and its start")
    return Epoch(int(match[1]), int(match[2]))


def _checksum(text: str) -> int:
    return zlib.crc32(text.encode()) & 0x7FFFFFFF
