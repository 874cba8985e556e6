"""The second phase of transactional messages."""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.fields import Long, wire
from sprocketmq.protocol.header import RpcRequestHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTransactionRequestHeader(RpcRequestHeader):
    """37 END_TRANSACTION."""

    topic: str | None = wire("topic", default=None)
    producer_group: str = wire("producerGroup")
    tran_state_table_offset: Long = wire("tranStateTableOffset")
    commit_log_offset: Long = wire("commitLogOffset")
    commit_or_rollback: int = wire("commitOrRollback")
    from_transaction_check: bool = wire("fromTransactionCheck", default=False)
    msg_id: str = wire("msgId")
    transaction_id: str | None = wire("transactionId", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckTransactionStateRequestHeader(RpcRequestHeader):
    """39 CHECK_TRANSACTION_STATE."""

    topic: str | None = wire("topic", default=None)
    tran_state_table_offset: Long = wire("tranStateTableOffset")
    commit_log_offset: Long = wire("commitLogOffset")
    msg_id: str | None = wire("msgId", default=None)
    transaction_id: str | None = wire("transactionId", default=None)
    offset_msg_id: str | None = wire("offsetMsgId", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeCheckHalfMessageRequestHeader:
    """323 RESUME_CHECK_HALF_MESSAGE."""

    topic: str | None = wire("topic", default=None)
    msg_id: str | None = wire("msgId", default=None)
