"""Requests of strict users: signed with their time and code, and with a number that is used once.

_ts     within five minutes of this server's clock
_code   the code of the request: what was signed as a route is no deletion
_nonce  STREAM-COUNT: a text of the sender's own, which begins with no digit, and how many requests it has signed before

What is signed are the values, joined in the order of their names. A field more among them, or a digit that is moved to
the neighbour, would make another code or number of the same text. So between the access key and the time there is
nothing else, and none of these can end elsewhere.

Of each stream the highest count is kept, and which of the 1,024 before it have come: requests of one sender overtake
each other on several connections, but not by more. A stream is forgotten when its last time is too old to be taken.
A user that makes more streams than can be kept is refused itself, and nobody else.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping

from sprocketmq.auth.authentication.session import Session
from sprocketmq.codes import ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.signing import ACCESS_KEY, CODE, NONCE, SIGNATURE, TIMESTAMP, UNIQUE_KEY_QUERY

_STAMPS = frozenset({SIGNATURE, CODE, NONCE})
SKEW_MS = 300_000
WINDOW = 1024
#: Of one user. There is one for each sender, and for each command of a tool, of the last ten minutes.
MAX_STREAMS = 10_000


class Replays:
    def __init__(self, now_ms: Callable[[], int] | None = None) -> None:
        self._now_ms = now_ms or (lambda: time.time_ns() // 1_000_000)
        #: (user, stream) -> (highest count, bits of those below it, when it may be forgotten); the oldest first.
        self._streams: OrderedDict[tuple[bytes, str], tuple[int, int, int]] = OrderedDict()
        self._streams_of: Counter[bytes] = Counter()

    def check(self, session: Session, request: Command) -> None:
        fields = request.ext_fields or {}
        sent_ms, count = _number(fields, TIMESTAMP), -1
        stream, _, digits = fields.get(NONCE, "").rpartition("-")
        if stream and digits.isascii() and digits.isdigit() and len(digits) < 19:
            count = int(digits)
        if sent_ms < 0 or count < 0 or len(stream) > 64 or stream[:1].isdigit() or CODE not in fields:
            raise _refused("this user must sign _ts, _nonce and _code")
        if fields[TIMESTAMP][:1] == "0" or not all(map(_may_stand, fields.items())):
            raise _refused("no other field may stand between AccessKey and _ts")
        check_code(request)
        now = self._now_ms()
        if abs(now - sent_ms) > SKEW_MS:
            raise _refused("the request is older or newer than five minutes")
        self._note((session.access_key, stream), count, now)

    def _note(self, key: tuple[bytes, str], count: int, now: int) -> None:
        highest, seen, _ = self._streams.get(key, (-1, 0, 0))
        if highest < 0:
            self._make_room(key[0], now)
        if count > highest:
            shifted = 0 if count - highest > WINDOW or highest < 0 else seen << (count - highest)
            seen = (shifted | 1) & (1 << WINDOW) - 1
            highest = count
        else:
            bit = 1 << highest - count
            if highest - count >= WINDOW or seen & bit:
                raise _refused("the request has been here before")
            seen |= bit
        # Whatever of this stream is sent again is older than what it may be when the stream is forgotten.
        self._streams[key] = highest, seen, now + 2 * SKEW_MS
        self._streams.move_to_end(key)

    def _make_room(self, user: bytes, now: int) -> None:
        """For one more stream of `user`."""
        while self._streams and next(iter(self._streams.values()))[2] <= now:
            (owner, _), _ = self._streams.popitem(last=False)
            self._streams_of[owner] -= 1
        if self._streams_of[user] >= MAX_STREAMS:
            raise RequestRefused(ResponseCode.SYSTEM_BUSY, f"[OVERLOAD]{MAX_STREAMS} senders of this user are known")
        self._streams_of[user] += 1


def _may_stand(field: tuple[str, str]) -> bool:
    """Whether what is signed leaves no doubt about where the stamps are, with this field."""
    name, value = field
    if name == UNIQUE_KEY_QUERY:
        return value in ("true", "false")
    return name in _STAMPS or not ACCESS_KEY < name < TIMESTAMP


def check_code(request: Command) -> None:
    """What carries a signed code counts as nothing else: the requests that servers sign among themselves do."""
    fields = request.ext_fields or {}
    if CODE in fields and _number(fields, CODE) != request.code:
        raise _refused("the request was signed as another one")


def _number(fields: Mapping[str, str], key: str) -> int:
    text = fields.get(key, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else -1


def _refused(text: str) -> RequestRefused:
    return RequestRefused(ResponseCode.NO_PERMISSION, text)
