"""Why a send is not stored, as its sender is told."""

from __future__ import annotations

from sprocketmq.codes import ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.store.log.append import PutStatus
from sprocketmq.store.store import MessageStore

_REASONS: dict[int, tuple[int, str]] = {
    PutStatus.FLUSH_DISK_TIMEOUT: (ResponseCode.FLUSH_DISK_TIMEOUT, "the disk was not reached in time"),
    PutStatus.FLUSH_SLAVE_TIMEOUT: (ResponseCode.FLUSH_SLAVE_TIMEOUT, "no slave confirmed in time"),
    PutStatus.SLAVE_NOT_AVAILABLE: (ResponseCode.SLAVE_NOT_AVAILABLE, "no slave is there"),
    PutStatus.SERVICE_NOT_AVAILABLE: (ResponseCode.SERVICE_NOT_AVAILABLE, "the store takes no messages now"),
    PutStatus.CREATE_MAPPED_FILE_FAILED: (ResponseCode.SERVICE_NOT_AVAILABLE, "the store cannot make a file"),
    PutStatus.MESSAGE_ILLEGAL: (ResponseCode.MESSAGE_ILLEGAL, "the message is too large or malformed"),
    PutStatus.PROPERTIES_SIZE_EXCEEDED: (ResponseCode.MESSAGE_ILLEGAL, "the properties exceed 32767 bytes"),
}


def not_stored(store: MessageStore, status: int) -> RequestRefused:
    """What the store says; once its disk has failed, that is the reason for everything."""
    code, remark = _REASONS.get(status, (ResponseCode.SYSTEM_ERROR, "the store failed"))
    return RequestRefused(code, remark if store.failure is None else str(store.failure))
