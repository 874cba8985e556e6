"""What does not work for the moment and is tried again: said when it begins, when it changes, when it ends."""

from __future__ import annotations

import errno
import logging

_log = logging.getLogger("sprocketmq.store")

_PASSING = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR, errno.EAGAIN})


class PassingFailure:
    """True while it lasts; `what` says what does not work."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._said = ""

    def __bool__(self) -> bool:
        return bool(self._said)

    def begin(self, error: OSError) -> None:
        if str(error) != self._said:
            self._said = str(error)
            _log.error("%s: %s; it is tried again", self._what, error)

    def end(self) -> None:
        if self._said:
            self._said = ""
            _log.warning("over: %s", self._what)


def can_pass(error: OSError) -> bool:
    """Whether something was lacking that may be there again, a descriptor or memory: then trying again is right.

    It is said of opening a file, never of a sync itself: whatever that says is final.
    """
    return error.errno in _PASSING
