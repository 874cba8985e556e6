"""Makes the parts of a broker that sends and special messages go through, and starts and stops them.

A send passes the interceptors in this order: retry limits, transactions, timers, delay levels. What the broker stores
for itself, such as a message that a consumer gave back, passes timers and delay levels alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sprocketmq.broker.delay.levels import Schedule
from sprocketmq.broker.delay.recall import Recalls
from sprocketmq.broker.delay.timer import Timer
from sprocketmq.broker.delay.timer_requests import TimedSends
from sprocketmq.broker.handlers.request_reply import Replies
from sprocketmq.broker.periodic import Periodic
from sprocketmq.broker.pop.acks import PopAcks
from sprocketmq.broker.pop.assignment import Assignments
from sprocketmq.broker.pop.handler import PopProcessors
from sprocketmq.broker.pop.order import PopOrder
from sprocketmq.broker.pop.popped_offsets import PoppedOffsets
from sprocketmq.broker.pop.revive import Revive
from sprocketmq.broker.retry.consumer_retry import Retries
from sprocketmq.broker.roles import Standing
from sprocketmq.broker.send.admission import SendAdmission
from sprocketmq.broker.send.handler import SendHandler
from sprocketmq.broker.send.message import BrokerMessage, Interceptor
from sprocketmq.broker.send.special import SpecialSends
from sprocketmq.broker.static_topic.handler import LogicalRequests
from sprocketmq.broker.system_topics.delivery import Deliveries
from sprocketmq.broker.system_topics.safe_answers import SafeAnswers
from sprocketmq.broker.system_topics.topic_counts import Resting
from sprocketmq.broker.tables.saver import save_all
from sprocketmq.broker.transaction.check_back import TransactionChecks
from sprocketmq.broker.transaction.half_messages import OpenHalves
from sprocketmq.broker.transaction.handler import Transactions
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.record.ids import UniqueIds
from sprocketmq.store.files.config_files import delay_offsets_file
from sprocketmq.store.log.append import PutResult

if TYPE_CHECKING:
    from sprocketmq.broker.broker import Broker

_SAVE_TIMERS_SECONDS = 10


def make_sends(
    broker: Broker, unique_ids: UniqueIds, static_topics: LogicalRequests, interceptors: Iterable[Interceptor]
) -> SendHandler:
    """The handler of sends, with its admission and the interceptors of special messages."""
    settings, store, stats, acks = broker.settings, broker.store, broker.stats, broker.acks
    admission = SendAdmission(
        settings, broker.topics, stats, broker.pressure, acks, static_topics, broker.registration.announce,
        broker.clock.now_ms,
    )  # fmt: skip
    special = SpecialSends(settings, store, stats, unique_ids, interceptors)
    return SendHandler(settings, store, admission, special, acks, unique_ids)


class MessageKinds:
    """Retries, transactions, delays, timers, POP and replies. A slave has them all, and only a master acts on them."""

    def __init__(self, broker: Broker) -> None:
        settings, store, clock, stats = broker.settings, broker.store, broker.clock, broker.stats
        self._settings = settings
        self._store = store
        self._roles = broker.roles
        self._files = broker.files
        self._followed = store.layout.config / "followed"
        self._started = self._is_loading = self._on_duty = False
        self._deliveries = deliveries = Deliveries(store, stats)
        answers = SafeAnswers(store, broker.acks)
        self.schedule = Schedule(store, delay_offsets_file(broker.files, store.layout.config), deliveries, clock)
        timing = Resting(broker.files, store.layout.config / "timermetrics", "timingCount", clock)
        self.timer = Timer(
            settings, store, broker.files, deliveries, stats, timing, lambda: broker.topics.configs, clock
        )
        self.timed = TimedSends(settings, self.timer, clock)
        self.recalls = Recalls(settings, broker.topics, answers, self.put, clock.now_ms)
        open_halves = Resting(broker.files, store.layout.config / "transactionMetrics", "transactionCount", clock)
        self.halves = OpenHalves(store, broker.offsets, settings, open_halves)
        self.checks = TransactionChecks(
            settings, store, broker.topics, broker.producers, self.halves, clock,
            lambda connection, topic: broker.access.may_still(connection, RequestCode.END_TRANSACTION, topic),
        )  # fmt: skip
        self.transactions = Transactions(settings, store, self.halves, stats, answers, self.checks.expect)
        self.retries = Retries(settings, store, broker.topics, broker.groups, broker.locks, stats, answers, self.put)
        self.revive = Revive(
            settings, store, broker.topics, broker.offsets, clock, self.put, lambda: self.timer.delivered_ms,
            stats.special, deliveries,
        )  # fmt: skip
        self.popped = PoppedOffsets(store, broker.offsets, self.revive.topic)
        self.order = order = PopOrder(broker.offsets, broker.files, store.layout.config, clock)
        self.pops = PopProcessors(
            settings, store, broker.topics, broker.groups, broker.offsets, stats, clock, self.revive, order,
            broker.pulls.long_polls, answers,
        )  # fmt: skip
        order.on_free = self.pops.polls.wake
        self.acks = PopAcks(settings, store, broker.topics, stats, clock, self.revive, order, answers)
        self.assignments = Assignments(
            settings, broker.topics, broker.groups, broker.consumers, broker.registration, broker.client, broker.files,
            store.layout.config,
        )  # fmt: skip
        self._jobs = [
            Periodic(
                "save delays", lambda: settings.current.flush_delay_offset_interval / 1000, self.schedule.progress.begin
            ),
            Periodic("revive", lambda: settings.current.revive_interval / 1000, self.revive.run),
            Periodic("save resting timers", lambda: _SAVE_TIMERS_SECONDS, self.timer.save_resting),
            Periodic(
                "save order", lambda: settings.current.flush_consumer_offset_interval / 1000, self.order.saver.begin
            ),
            Periodic(
                "save open transactions",
                lambda: settings.current.transaction_metric_flush_interval / 1000,
                self.halves.resting.saver.begin,
            ),
        ]
        self.interceptors = (
            self.retries.intercept, self.transactions.intercept, self.timed.intercept, self.schedule.intercept,
        )  # fmt: skip
        self.retries.add_to(broker.table)
        self.transactions.add_to(broker.table)
        self.recalls.add_to(broker.table)
        self.pops.add_to(broker.table)
        self.acks.add_to(broker.table)
        self.assignments.add_to(broker.table)
        Replies(settings, store, lambda: broker.sends.admission, broker.producers, stats, clock).add_to(broker.table)
        self._roles.on_change.append(self._role_changed)

    def put(self, message: BrokerMessage) -> PutResult:
        """Store a message of the broker's own, delayed when it asks for that."""
        self.timed.intercept(message)
        self.schedule.intercept(message)
        return message.put_to(self._store)

    def start(self) -> None:
        self.schedule.load()
        self.assignments.load()
        self._started = True
        self.popped.load(was_slave=self._files.exists(self._followed))
        self._note_role()
        if self._roles.current.is_master:
            self._begin_duties()

    def _note_role(self) -> None:
        """A store that was a slave's may know of deliveries less than its log does."""
        if not self._roles.current.is_master:
            self._files.write_bytes(self._followed, b"")
        elif self._files.exists(self._followed):
            self._deliveries.doubt_all()
            self._files.remove(self._followed)

    def _begin_duties(self) -> None:
        """What only a master does: deliver what rests, check transactions, give back what was popped.

        Who could not read all that is under way writes nothing of it down: what is not known would count as done.
        """
        self._is_loading = True
        try:
            self.schedule.start()
            if self._settings.current.timer_wheel_enable:
                self.timer.start()
            self.popped.catch_up()
            self.revive.load()
            self.order.alarm.start()
            self.order.load()
            self.checks.start()
            for job in self._jobs:
                job.start()
        except BaseException:
            self._end_duties()
            raise
        self._is_loading, self._on_duty = False, True

    def _end_duties(self) -> None:
        """Another broker does all this from now on; what this one has not written down counts for nothing."""
        self._stop_alarms()
        self.schedule.pause()
        self.timer.stop(save=False)
        for part in (self.schedule, self.timer, self.halves, self.revive):
            part.progress.drop()
        self.popped.know(self.popped.end)

    def _stop_alarms(self) -> None:
        self._on_duty = False
        for job in self._jobs:
            job.stop()
        self.checks.alarm.stop()
        self.order.alarm.stop()

    def _role_changed(self, _before: Standing, now: Standing) -> None:
        if not self._started or now.is_master == self._on_duty:
            return
        if now.is_master:
            self._deliveries.doubt_all()
            self._begin_duties()
        else:
            self._end_duties()

    def begin_progress(self) -> None:
        """Have committed what transactions and POP have settled, before the offsets are saved."""
        if not self._on_duty:
            return
        self.halves.progress.begin()
        self.revive.progress.begin()

    def stop(self) -> bool:
        """Write down how far everything has come; the store is still open. Before a start there is nothing to say.

        False when something could not be written.
        """
        if not self._started:
            return True
        self._started = False
        if not self._on_duty:
            return save_all([self.schedule.saver.close, self.assignments.saver.close]) and not self._is_loading
        self._stop_alarms()
        self.halves.write_marks()
        self.schedule.stop()
        self.timer.stop()
        self.revive.progress.save_now()
        self.halves.progress.save_now()
        return save_all([
            self.order.save, self.schedule.saver.close, self.timer.close_resting, self.halves.resting.save,
            self.assignments.saver.close,
        ])  # fmt: skip
