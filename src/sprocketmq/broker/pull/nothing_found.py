"""Pulls that cannot be answered with messages now: what their clients are told, and which of them wait.

What the store says becomes a code and the offset to go on from:

    no match, or the record is gone              PULL_RETRY_IMMEDIATELY   behind what was looked at
    at the end, or a hole                        PULL_NOT_FOUND           where it is; parked when the pull allows it
    damaged, and being mended                    PULL_NOT_FOUND           where it is; parked
    before the first, behind the end             PULL_OFFSET_MOVED        the first; the end
    an empty queue                               PULL_NOT_FOUND at offset 0, else PULL_OFFSET_MOVED to 0
    an administrator has set another offset      PULL_OFFSET_MOVED        that offset
    out of range on a slave                      PULL_RETRY_IMMEDIATELY   the same place; offsetCheckInSlave: as above
"""

from __future__ import annotations

import asyncio

from sprocketmq.broker.metrics.stats import Stats
from sprocketmq.broker.pull.cold_data import HOLD_SECONDS, ColdReads
from sprocketmq.broker.pull.handler import Parked, PullAdmission, PullHandler
from sprocketmq.broker.pull.long_polling import LongPolls
from sprocketmq.broker.pull.offset_moved import MovedOffsets
from sprocketmq.broker.roles import Roles
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.tables.group_members import ConsumerTable
from sprocketmq.broker.tables.offsets import ConsumerOffsets
from sprocketmq.codes import ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.enums import ConsumeType
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.requests.pull import SUSPEND, PullRequest, encode_pull_reply_head
from sprocketmq.remoting import Connection, Reply
from sprocketmq.store.pull.get import GetResult, GetStatus
from sprocketmq.store.store import MessageStore

#: By the numbers of GetStatus: a member of an enum is a slow key of a dict.
_CODES = tuple(
    {
        GetStatus.NO_MATCHED_MESSAGE: ResponseCode.PULL_RETRY_IMMEDIATELY,
        GetStatus.MESSAGE_WAS_REMOVING: ResponseCode.PULL_RETRY_IMMEDIATELY,
        GetStatus.OFFSET_FOUND_NULL: ResponseCode.PULL_NOT_FOUND,
        GetStatus.OFFSET_OVERFLOW_ONE: ResponseCode.PULL_NOT_FOUND,
        GetStatus.OFFSET_OVERFLOW_BADLY: ResponseCode.PULL_OFFSET_MOVED,
        GetStatus.OFFSET_TOO_SMALL: ResponseCode.PULL_OFFSET_MOVED,
        GetStatus.OFFSET_RESET: ResponseCode.PULL_OFFSET_MOVED,
    }.get(status)
    for status in GetStatus
)

#: A pull that does not want to wait waits so long for a message that is being mended, which takes less.
_MEND_MS = 6000


class NothingFound:
    def __init__(
        self, settings: Settings, store: MessageStore, offsets: ConsumerOffsets, consumers: ConsumerTable, stats: Stats,
        moved: MovedOffsets, cold: ColdReads, long_polls: LongPolls, roles: Roles,
    ) -> None:  # fmt: skip
        self._settings = settings
        self._store = store
        self._offsets = offsets
        self._consumers = consumers
        self._stats = stats
        self._moved = moved
        self._cold = cold
        self._long_polls = long_polls
        self._roles = roles

    def nothing_found(
        self, handler: PullHandler, connection: Connection, request: Command, pull: PullRequest,
        admission: PullAdmission, result: GetResult,
    ) -> Reply:  # fmt: skip
        """Park the pull when it allows that and a message may still come, or tell what there is."""
        may_suspend = pull.sys_flag & SUSPEND
        may_wait = (may_suspend or _is_being_mended(result)) and not request.is_oneway
        if not may_wait or _code(result, pull) != ResponseCode.PULL_NOT_FOUND:
            return self.tell(request, pull, admission, result)
        config = self._settings.current
        wait_ms = pull.suspend_timeout_millis if config.long_polling_enable else config.short_polling_time_mills
        if not may_suspend:
            wait_ms = _MEND_MS
        parked = Parked(handler, connection, request, pull, admission)
        parked.deadline = asyncio.get_running_loop().time() + config.polling_seconds(wait_ms)
        self._long_polls.park(parked)
        return None

    def tell(self, request: Command, pull: PullRequest, admission: PullAdmission, result: GetResult) -> bytes:
        """Why there is no message, and where to go on."""
        code, following = _code(result, pull), result.next_begin_offset
        if code == ResponseCode.PULL_OFFSET_MOVED and self._is_for_master(result):
            code, following = ResponseCode.PULL_RETRY_IMMEDIATELY, pull.queue_offset
        if admission.is_counted:
            self._stats.missed += 1
            if code == ResponseCode.PULL_OFFSET_MOVED and result.status is not GetStatus.OFFSET_RESET:  # that was meant
                queue = MessageQueue(pull.topic, self._settings.current.broker_name, pull.queue_id)
                self._moved.tell(pull.consumer_group, queue, pull.queue_offset, result.next_begin_offset)
        return encode_pull_reply_head(
            request, code, result.status.name,
            admission.slow_broker_id if result.suggest_pulling_from_slave else admission.broker_id,
            following, result.min_offset, result.max_offset, 0, admission.topic_sys_flag,
            admission.group_sys_flag,
        )  # fmt: skip

    def _is_for_master(self, result: GetResult) -> bool:
        """A slave may be behind, or lack what its master still has: whether an offset is out of range says the master,
        to whom the answer sends the consumer. Sent elsewhere by the slave, it would read twice, or pass over messages.
        """
        if self._roles.current.is_master or self._settings.current.offset_check_in_slave:
            return False
        return result.status is not GetStatus.OFFSET_RESET

    def reset(self, pull: PullRequest) -> GetResult | None:
        """Where an administrator has sent the group, once."""
        offset = self._offsets.take_reset(pull.consumer_group, pull.topic, pull.queue_id)
        if offset is None:
            return None
        low = self._store.min_offset(pull.topic, pull.queue_id)
        high = self._store.max_offset(pull.topic, pull.queue_id)
        return GetResult(GetStatus.OFFSET_RESET, offset, low, high)

    # -- readers of cold data -----------------------------------------------------------------------------------------

    def count_cold(self, pull: PullRequest, result: GetResult) -> None:
        self._cold.count(pull.consumer_group, pull.topic, pull.queue_id, pull.queue_offset, result)

    def holds_back(
        self, handler: PullHandler, connection: Connection, request: Command, pull: PullRequest,
        admission: PullAdmission,
    ) -> bool:  # fmt: skip
        """Whether the group has read enough of cold data for now. A pull consumer is answered later, others not."""
        if not self._cold.holds_back(pull.consumer_group, pull.topic, pull.queue_id, pull.queue_offset):
            return False
        group = self._consumers.get(pull.consumer_group)
        if group is None or group.consume_type is not ConsumeType.CONSUME_ACTIVELY:
            remark = f"group {pull.consumer_group} reads cold data, and has read enough of it for now"
            raise RequestRefused(ResponseCode.SYSTEM_BUSY, remark)
        pull.max_msg_nums = 1
        parked = Parked(handler, connection, request, pull, admission)
        parked.strip()
        asyncio.get_running_loop().call_later(HOLD_SECONDS, self._long_polls.answer, parked)
        return True


def _is_being_mended(result: GetResult) -> bool:
    """Whether the message is there, and damaged, and being mended: see `replication.log_repair`."""
    return result.status is GetStatus.OFFSET_OVERFLOW_ONE and result.next_begin_offset < result.max_offset


def _code(result: GetResult, pull: PullRequest) -> int:
    code = _CODES[result.status]
    if code is None:  # there is no queue, or nothing in it
        return ResponseCode.PULL_NOT_FOUND if pull.queue_offset == 0 else ResponseCode.PULL_OFFSET_MOVED
    return code
