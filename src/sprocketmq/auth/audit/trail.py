"""One line for each request that changes something: who, from where, what, how it ended, what was and what is.

The lines go to the log `sprocketmq.audit`, and to `auditFile` where one is set. No line has a secret: fields and values
whose name speaks of one are shown as `***`, and bodies are not shown at all. What was and what is comes from `looks`:
for a request code, what the server has of the thing that the request is about, as a text.
"""

from __future__ import annotations

import logging
import logging.handlers
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from sprocketmq.auth.authorization.request_table import CHANGES
from sprocketmq.codes import RequestCode
from sprocketmq.config import shown
from sprocketmq.logs import Events, LogfmtFormatter
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.signing import ACCESS_KEY, CODE, NONCE, SIGNATURE, TIMESTAMP
from sprocketmq.remoting import Connection, Handler, ProcessorTable, Reply
from sprocketmq.remoting.handlers import Frame

events = Events("sprocketmq.audit")

Look = Callable[[Command], str]

_MAX_TEXT, _MAX_FIELDS = 1000, 24
#: A peer chooses the names of fields, and they stand in the line as they are.
_PLAIN = re.compile(r"[A-Za-z]\w{0,63}", re.ASCII)
_FILE_BYTES, _FILES = 64 << 20, 10
#: Of the signature and the transport, not of the request.
_LEFT_OUT = frozenset({ACCESS_KEY, SIGNATURE, TIMESTAMP, NONCE, CODE, "SecurityToken", "bname", "lo", "ns", "nsd"})


class Audit:
    def __init__(self, file: str = "") -> None:
        self.looks: dict[int, Look] = {}
        self._file = file
        self._handler: logging.Handler | None = None

    def open(self) -> None:
        logging.getLogger("sprocketmq.audit").setLevel(logging.INFO)  # whatever `logLevel` leaves out
        if self._file:
            path = Path(self._file).expanduser()
            path.parent.mkdir(parents=True, exist_ok=True)
            self._handler = logging.handlers.RotatingFileHandler(
                path, maxBytes=_FILE_BYTES, backupCount=_FILES, encoding="utf-8"
            )
            path.chmod(0o600)
            self._handler.setFormatter(LogfmtFormatter())
            logging.getLogger("sprocketmq.audit").addHandler(self._handler)

    def close(self) -> None:
        if self._handler is not None:
            logging.getLogger("sprocketmq.audit").removeHandler(self._handler)
            self._handler.close()
            self._handler = None

    def watch(self, table: ProcessorTable) -> None:
        """Stand around the handlers of changes; called before the guards, so that what they refuse is no change."""
        table.guard(CHANGES, self._around)

    def _around(self, handler: Handler) -> Handler:
        def watched(connection: Connection, request: Command) -> Reply:
            old = self._look(request)
            session = connection.session
            who = session.name if session is not None and session.is_proven else "-"

            def tell(reply: Reply) -> None:
                self._tell(connection, request, who, _ending(reply), old)

            try:
                reply = handler(cast(Connection, _Witness(connection, tell)), request)
            except Exception as error:
                self._tell(connection, request, who, f"refused: {error}", old)
                raise
            if reply is not None:
                tell(reply)
            return reply

        return watched

    def _look(self, request: Command) -> str:
        look = self.looks.get(request.code)
        try:
            return "" if look is None else look(request)
        except Exception:  # noqa: BLE001 - a request that cannot be read is the handler's to refuse
            return ""

    def _tell(self, connection: Connection, request: Command, who: str, result: str, old: str) -> None:
        fields: dict[str, object] = {"user": who or "-", "peer": connection.peer}
        fields |= {"request": request.opaque, "result": result}
        for key, value in (request.ext_fields or {}).items():
            if key not in _LEFT_OUT and value and _PLAIN.fullmatch(key) and len(fields) < _MAX_FIELDS:
                fields[f"field_{key}"] = shown(key, value[:_MAX_TEXT])
        new = self._look(request)
        if old != new:
            fields |= {"old": old[:_MAX_TEXT], "new": new[:_MAX_TEXT]}
        events.info(_name(request.code), **fields)


class _Witness:
    """In the place of a connection, to hear the answer that comes later."""

    def __init__(self, connection: Connection, tell: Callable[[Reply], None]) -> None:
        self._connection = connection
        self._tell = tell

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def reply(self, reply: Command | Frame, request: Command, *, waited: bool = False) -> None:
        self._tell(reply)
        self._connection.reply(reply, request, waited=waited)


def _ending(reply: Reply) -> str:
    if isinstance(reply, Command) and reply.code != 0:
        return f"refused: {reply.remark}"
    return "done"


def _name(code: int) -> str:
    return RequestCode(code).name.lower().replace("_", " ")
