"""What does not work for the moment and is tried again: said when it begins, when it changes, when it ends."""

from __future__ import annotations

import logging

_log = logging.getLogger("sprocketmq.store")


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
