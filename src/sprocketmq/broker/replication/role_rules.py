"""What a broker refuses because of its role, as RocketMQ's brokers do.

    sends, messages sent back        SYSTEM_BUSY, before they are decoded
    end of a transaction, recall     SLAVE_NOT_AVAILABLE
    reset of offsets                 SYSTEM_ERROR
    pulls                            SYSTEM_BUSY, unless slaveReadEnable is true

Offsets are committed, heartbeats taken and everything else answered as by a master. The store itself refuses every
message of a broker that is no master, whoever puts it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sprocketmq.broker.roles import Roles
from sprocketmq.broker.settings import Settings
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.command import Command
from sprocketmq.remoting import Connection, ProcessorTable, Reply
from sprocketmq.remoting.handlers import Handler
from sprocketmq.store.log.append import PutStatus
from sprocketmq.store.store import MessageStore

#: Of a machine's memory, a slave is taken to hold so much less of the log's end than a master.
_SLAVE_LESS_PERCENT = 10
REJECTED = "[REJECTREQUEST]system busy, start flow control for a while"

_MASTERS_ONLY: dict[int, tuple[int, str]] = {
    RequestCode.CONSUMER_SEND_MSG_BACK: (ResponseCode.SYSTEM_BUSY, REJECTED),
    RequestCode.END_TRANSACTION: (ResponseCode.SLAVE_NOT_AVAILABLE, "a slave ends no transaction"),
    RequestCode.RECALL_MESSAGE: (ResponseCode.SLAVE_NOT_AVAILABLE, "a slave recalls nothing"),
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: (
        ResponseCode.SYSTEM_ERROR, "Can not reset offset in slave broker"
    ),
}  # fmt: skip


class RoleRules:
    def __init__(self, settings: Settings, store: MessageStore, roles: Roles) -> None:
        self._settings = settings
        self._store = store
        self._roles = roles
        self.follow()
        roles.on_change.append(lambda _before, _now: self.follow())
        settings.on_store_change.append(lambda _config: self._set_memory())

    def follow(self) -> None:
        """Only a master's store takes messages; one whose disk has failed takes none ever again."""
        takes = self._roles.current.is_master and self._store.failure is None
        self._store.appender.status = PutStatus.PUT_OK if takes else PutStatus.SERVICE_NOT_AVAILABLE
        self._set_memory()

    def _set_memory(self) -> None:
        """What a reader asks for counts as read from the disk a little earlier on a slave, as in RocketMQ."""
        config = self._store.config
        if not self._roles.current.is_master:
            ratio = max(0, config.access_message_in_memory_max_ratio - _SLAVE_LESS_PERCENT)
            config = replace(config, access_message_in_memory_max_ratio=ratio)
        self._store.getter.configure(config)

    def check_send(self) -> None:
        if not self._roles.current.is_master:
            raise RequestRefused(ResponseCode.SYSTEM_BUSY, REJECTED)

    def check_pull(self) -> None:
        if not self._roles.current.is_master and not self._settings.current.slave_read_enable:
            raise RequestRefused(ResponseCode.SYSTEM_BUSY, REJECTED)

    def guard(self, table: ProcessorTable) -> None:
        """Put the rules around requests that come seldom; sends and pulls ask for them when they are admitted."""
        for code, (refusal, remark) in _MASTERS_ONLY.items():
            table.guard([code], self._masters_only(refusal, remark))

    def _masters_only(self, code: int, remark: str) -> Callable[[Handler], Handler]:
        def guard(handler: Handler) -> Handler:
            def guarded(connection: Connection, request: Command) -> Reply:
                if not self._roles.current.is_master:
                    raise RequestRefused(code, remark)
                return handler(connection, request)

            return guarded

        return guard
