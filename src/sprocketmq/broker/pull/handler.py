# cython: annotation_typing=False
"""PULL_MESSAGE and LITE_PULL_MESSAGE, from the frame to the answer.

    decode -> admission -> commit -> look -> FOUND: answer
                                          -> else: parked until a message comes, or told why there is none

An admission is the answer to "may this group read this topic, and what does it want of it?". It is found out once, by
`PullRules`, and holds until one of the tables that it rests on changes: then all of them are closed at once. A pull
that was parked looks again and is answered by the same code as one that has just come.

Everything here runs on the broker's loop: nothing is locked, no table changes between two lines, and none of it rests
on the GIL. handler.pxd gives requests, admissions and results their C types, so that a pull which finds messages reads
fields and calls methods without a look at a dict; `rules` and `without_messages` stay Python, they are asked seldom.
"""

from __future__ import annotations

from typing import Any

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.requests.pull import MAX_BYTES, PullRequest, decode_pull, encode_pull_reply_head
from sprocketmq.remoting.handlers import refusal
from sprocketmq.store.pull.get import GetResult, GetStatus, PullReader

if not cython.compiled:
    from sprocketmq.hot.memory import ticks_ns
    from sprocketmq.protocol.requests.pull import COMMIT_OFFSET, SUBSCRIPTION

_LITE = int(RequestCode.LITE_PULL_MESSAGE)
_FOUND = GetStatus.FOUND
#: Admissions, with the filters they keep alive, take no more than this; one too many closes the others.
_ADMITTED_BYTES = 64 << 20
#: What one takes besides its filter.
_ADMISSION_BYTES = 512


class PullRefused(RequestRefused):
    """NO_PERMISSION, with the reason as a number."""

    def __init__(self, forbidden_type: int, remark: str) -> None:
        super().__init__(ResponseCode.NO_PERMISSION, remark)
        self.forbidden_type = forbidden_type

    def answer(self, request: Command, connection: Any) -> Command:
        reply = refusal(request, self, connection)
        reply.ext_fields = {"forbiddenType": str(self.forbidden_type)}
        return reply


class PullAdmission:
    """One group on one topic.

    `offsets_key` is what both are called in the table of offsets, `filter_bytes` what text and filter take that the
    pull itself brought along.
    """

    def __init__(self, pull: PullRequest, wanted: Any, offsets_key: str, queue_count: int) -> None:
        self.wanted = wanted
        self.offsets_key = offsets_key
        self.queue_count = queue_count
        self.filter_bytes = 0
        #: The next pull like this one need not be asked again.
        self.lasts = True
        #: Which opening of the table it belongs to, see `PullHandler.generation`.
        self.generation = -1
        self.takes_lite = False
        #: Tools look, they do not consume.
        self.is_counted = True
        #: Bytes that come from the disk are counted, and may be too many.
        self.reads_cold = False
        self.sub_version = 0
        self.topic_sys_flag = self.group_sys_flag = 0
        #: Where to pull next, and where when this broker must read from its disk.
        self.broker_id = self.slow_broker_id = 0
        #: Pulls that wait with it.
        self.parked = 0
        #: One for each queue; empty until the group gets its first message.
        self.counters: list[Any] = []
        self._carried = pull.sys_flag & SUBSCRIPTION
        #: The text that came along, and None when the heartbeats' one is meant, whatever came.
        self.subscription = pull.subscription if self._carried else None
        self._expression_type = pull.expression_type

    def fits(self, request: Command, pull: PullRequest) -> bool:
        if pull.queue_id < 0 or pull.queue_id >= self.queue_count or pull.sys_flag & SUBSCRIPTION != self._carried:
            return False
        if request.code == _LITE and not self.takes_lite:
            return False
        if self._carried:
            return pull.subscription == self.subscription and pull.expression_type == self._expression_type
        return pull.sub_version <= self.sub_version


class Parked:
    """A pull that waits, with what it was granted. `pull.queue_offset` moves on past messages that are not for it.

    `done` when it waits no longer, `answered` when nobody may answer it again.
    """

    def __init__(
        self, handler: PullHandler, connection: Any, request: Command, pull: PullRequest, admission: PullAdmission
    ) -> None:
        self.connection = connection
        self.request = request
        self.pull = pull
        self.admission = admission
        self.deadline = 0.0
        self.done = False
        self.answered = False
        self._handler = handler

    def strip(self) -> None:
        """Keep only what the answer needs; the text of the subscription is shared by all pulls of one admission."""
        self.request.body = b""
        self.request.ext_fields = None
        self.pull.subscription = self.admission.subscription
        self.pull.proxy_froward_client_id = None

    def serve(self) -> int:
        """Answer with whatever there is now; the size of the answer."""
        return self._handler.serve(self)


class PullHandler:
    """`rules` grant admissions, `without_messages` takes the pulls that cannot be answered with messages now;
    `offsets` and `stats` are told what each group got.
    """

    def __init__(self, getter: PullReader, offsets: Any, stats: Any, rules: Any, without_messages: Any) -> None:
        self.admitted: dict[str, dict[str, PullAdmission]] = {}
        #: Counts how often the table was emptied: a parked pull sees by it that its admission is closed, and closing
        #: costs the same however many there are.
        self.generation = 0
        self._admitted_bytes = 0
        self._getter = getter
        self._offsets = offsets
        self._stats = stats
        self._rules = rules
        self._without_messages = without_messages

    def close_all(self, _changed: Any = None) -> None:
        """Have every group's pulls asked anew: what may be read here, and how, has changed."""
        self.admitted.clear()
        self._admitted_bytes = 0
        self.generation += 1

    # -- one pull -----------------------------------------------------------------------------------------------------

    def pull(self, connection: Any, request: Command) -> Any:
        pull = decode_pull(request)
        admission = self.admission_of(pull)
        if admission is None or not admission.fits(request, pull):
            if self._rules.is_logical(request, pull):
                return self._rules.forward(connection, request)
            try:
                admission = self.admit(connection, request, pull)
            except PullRefused as refused:
                return refused.answer(request, connection)
        if pull.sys_flag & COMMIT_OFFSET and self.is_there(pull):
            self._offsets.commit_by(admission.offsets_key, pull.queue_id, pull.commit_offset)
        if admission.reads_cold and self._without_messages.holds_back(self, connection, request, pull, admission):
            return None
        began = ticks_ns()
        result = self.look(pull, admission)
        if result.status is _FOUND:  # the members of an enum are one object each: no comparison of numbers
            return self.found(request, pull, admission, result, ticks_ns() - began)
        return self._without_messages.nothing_found(self, connection, request, pull, admission, result)

    def serve(self, parked: Parked) -> int:
        """Answer a pull that waited, with whatever there is now; the size of the answer."""
        request = parked.request
        try:
            reply = self.look_again(parked.connection, request, parked.pull, parked.admission)
        except PullRefused as refused:
            reply = refused.answer(request, parked.connection)
        except Exception as error:  # noqa: BLE001 - the edge of the loop: it is answered as when it came
            reply = refusal(request, error, parked.connection)
        parked.connection.reply(reply, request, waited=True)
        return len(reply) if type(reply) is bytes else 0

    def look_again(self, connection: Any, request: Command, pull: PullRequest, admission: PullAdmission) -> Any:
        if admission.generation != self.generation and self._rules.has_topic(pull.topic):
            admission = self.admit(connection, request, pull)
        began = ticks_ns()
        result = self.look(pull, admission)
        if result.status is _FOUND:
            return self.found(request, pull, admission, result, ticks_ns() - began)
        return self._without_messages.tell(request, pull, admission, result)

    def is_there(self, pull: PullRequest) -> bool:
        """Whether what it has consumed is in the queue; who commits more would miss what comes next."""
        return 0 <= pull.commit_offset <= self._getter.end_of(pull.topic, pull.queue_id)

    # -- may it, and what does it want? -------------------------------------------------------------------------------

    def admission_of(self, pull: PullRequest) -> PullAdmission | None:
        groups = self.admitted.get(pull.topic)
        return None if groups is None else groups.get(pull.consumer_group)

    def admit(self, connection: Any, request: Command, pull: PullRequest) -> PullAdmission:
        admission: PullAdmission = self._rules.admit(connection, request, pull)
        if admission.lasts:
            self.open(pull.topic, pull.consumer_group, admission)
        return admission

    def open(self, topic: str, group: str, admission: PullAdmission) -> None:
        self._admitted_bytes += admission.filter_bytes + _ADMISSION_BYTES
        if self._admitted_bytes > _ADMITTED_BYTES:
            self.close_all()
        admission.generation = self.generation
        self.admitted.setdefault(topic, {})[group] = admission

    # -- what is there? -----------------------------------------------------------------------------------------------

    def look(self, pull: PullRequest, admission: PullAdmission) -> GetResult:
        if self._offsets.resets:
            moved: GetResult | None = self._without_messages.reset(pull)
            if moved is not None:
                return moved
        max_bytes = MAX_BYTES if pull.max_msg_bytes is None else pull.max_msg_bytes
        result = self._getter.get_message(
            pull.topic, pull.queue_id, pull.queue_offset, pull.max_msg_nums, max_bytes, admission.wanted,
            pull.bulk is not None,
        )  # fmt: skip
        if admission.reads_cold:
            self._without_messages.count_cold(pull, result)
        return result

    def found(
        self, request: Command, pull: PullRequest, admission: PullAdmission, result: GetResult, took_ns: int
    ) -> bytes:
        if admission.is_counted:
            self.count(pull, admission, result, took_ns)
        head = encode_pull_reply_head(
            request, 0, None, admission.slow_broker_id if result.suggest_pulling_from_slave else admission.broker_id,
            result.next_begin_offset, result.min_offset, result.max_offset, result.size, admission.topic_sys_flag,
            admission.group_sys_flag,
        )  # fmt: skip
        return result.behind(head)

    def count(self, pull: PullRequest, admission: PullAdmission, result: GetResult, took_ns: int) -> None:
        if pull.queue_id >= len(admission.counters):
            counters = self._stats.group(pull.consumer_group, pull.topic)
            admission.counters = counters.grow(max(admission.queue_count, pull.queue_id + 1))
        counter = admission.counters[pull.queue_id]
        counter.count += result.count
        counter.size += result.size
        counter.micros += took_ns // 1000
        self._stats.found += 1
        self._offsets.pull_by(admission.offsets_key, pull.queue_id, result.next_begin_offset)
