"""The files of timers: the wheel, its log, and `timercheck`. The first timer makes them; they are saved on a thread.

One thread, so that `timercheck` is written in the order of what it says, whoever says it. It is read once: from then on
`check` knows more than the file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from sprocketmq.errors import FlushFailed
from sprocketmq.logs import Events
from sprocketmq.protocol.names import TIMER_TOPIC
from sprocketmq.store.files.files import Files
from sprocketmq.store.files.passing_failure import can_pass
from sprocketmq.store.store import MessageStore
from sprocketmq.store.timer.log import UNIT_SIZE, TimerCheck, TimerLog, read_timer_check
from sprocketmq.store.timer.wheel import SLOTS, TimerWheel

events = Events("sprocketmq.broker.delay")

#: Units of the log, from its end, that a start looks for on the wheel.
_UNITS_LOOKED_AT = 256
#: `timercheck` says when it was written; a slave's may be a little older than the rest of it.
_SLACK_MS = 60_000


@dataclass(frozen=True, slots=True)
class OpenTimers:
    wheel: TimerWheel
    log: TimerLog


class TimerFiles:
    """`check` is what was given to be saved last; `on_not_saved` is called from the thread when that failed.
    `built_again` says that wheel and log were there and could not be taken as they were.
    """

    def __init__(self, store: MessageStore, files: Files, precision: int, on_not_saved: Callable[[], object]) -> None:
        root = store.layout.root
        self.check = self._safe_check = TimerCheck()
        self.opened: OpenTimers | None = None
        self.built_again = False
        self._store = store
        self._files = files
        self._precision = precision
        self._on_not_saved = on_not_saved
        self._check_path: Path = store.layout.config / "timercheck"
        self._wheel_path, self._log_path = root / "timerwheel", root / "timerlog"
        self._saver = ThreadPoolExecutor(1, "save-timers")
        self._is_loaded = False

    @property
    def exist(self) -> bool:
        return self._files.exists(self._wheel_path) or self._files.exists(self._log_path)

    def load_check(self) -> TimerCheck:
        if not self._is_loaded:
            self.check = self._safe_check = self._believed(read_timer_check(self._files, self._check_path))
            self._is_loaded = True
        return self.check

    def _believed(self, check: TimerCheck) -> TimerCheck:
        """What `timercheck` says, unless it is gone, or names a time or an offset that was yet to come when it was
        written. Then the last message tells: what was due before it was stored was delivered, but for a second.
        """
        stored, now = self._store.appender.store_timestamp, self._store.clock.now_ms()
        topic_end = self._store.dispatcher.queue(TIMER_TOPIC, 0).next_offset
        latest = max(stored, now) + SLOTS * self._precision
        if not self.exist or (
            0 < check.read_time <= min(check.timestamp + _SLACK_MS if check.timestamp else latest, latest)
            and 0 <= check.queue_offset <= topic_end
        ):
            return check
        events.error("timers damaged: how far they were delivered is taken from the log", path=self._check_path)
        return TimerCheck(read_time=max(stored // self._precision - 1, 0) * self._precision)

    # -- for a slave ---------------------------------------------------------------------------------------------------

    def inherit(self, master: TimerCheck) -> asyncio.Future[None]:
        """Note how far the master has come; done when that is on disk. The wheel here is made from the topic if need
        be.
        """
        own = self.load_check()
        self.check = replace(
            master, log_position=own.log_position, queue_offset=own.queue_offset,
            master_queue_offset=master.queue_offset,
        )  # fmt: skip
        return asyncio.wrap_future(self._saver.submit(self._keep, self.check))

    def forget_wheel(self) -> None:
        """The log was cut: units may be of messages that are gone, and new ones in their place have none.
        The wheel is made again from the topic.
        """
        self.await_saved()  # what was to be kept before is older
        check = self.load_check()
        self.check = replace(check, log_position=0, queue_offset=0, master_queue_offset=0)
        if self.check != check:
            self._keep(self.check)
        self._files.remove(self._wheel_path)
        self._files.remove_tree(self._log_path)

    # -- across restarts -----------------------------------------------------------------------------------------------

    def open(self, read_time: int, queue_offset: int) -> tuple[OpenTimers, int]:
        """Wheel and log, whole from `read_time` on, and from where the timer topic is to be read."""
        goes_on = self.exist  # new ones have no place to find: a message that is on its way to them keeps its own
        wheel = TimerWheel(self._files, self._wheel_path, self._precision)
        log = TimerLog(self._files, self._log_path)
        self.opened = OpenTimers(wheel, log)
        damaged = self._damaged(wheel, log, read_time) if goes_on and self._store.report.clean else None
        if damaged is not None:
            events.error("timers damaged, and built again from their messages", path=damaged)
        self.built_again = goes_on and (damaged is not None or not self._store.report.clean)
        if self.built_again:
            queue_offset = self._cut(log)
            _relink(wheel, log, read_time)
        elif goes_on:
            queue_offset = max(queue_offset, self._behind_last(log))
        return self.opened, queue_offset

    def _damaged(self, wheel: TimerWheel, log: TimerLog, read_time: int) -> Path | None:
        """What a clean stop left otherwise: a log that ends earlier, a wheel that has no slot for timers to come."""
        if log.end < self.load_check().log_position:
            return self._log_path
        for _position, unit in islice(log.units_before(log.end), _UNITS_LOOKED_AT):
            if unit.time >= read_time and not wheel.knows(unit.time):
                return self._wheel_path
        return None

    def close(self) -> None:
        """After what is being saved."""
        self._saver.shutdown(wait=True)
        self._saver = ThreadPoolExecutor(1, "save-timers")
        if self.opened is not None:
            self.opened.wheel.close()
            self.opened.log.close()
            self.opened = None

    def _behind_last(self, log: TimerLog) -> int:
        last = log.last()
        record = None if last is None else self._store.reader.record_at(last.commit_offset)
        return record.queue_offset + 1 if record is not None and record.topic == TIMER_TOPIC else 0

    def _cut(self, log: TimerLog) -> int:
        """After a crash: only what `timercheck` vouches for is whole; behind it a page may be there and the one before
        it not. A unit may also outlive its message. Both are forgotten, and their messages read again.

        RocketMQ's `timercheck` names a position that is older than its queue offset, so that one is not believed.
        """
        end, queue_offset = log.begin, 0
        for position, unit in log.units_before(min(self.check.log_position, log.end)):
            record = self._store.reader.record_at(unit.commit_offset)
            if record is not None and record.topic == TIMER_TOPIC:
                end, queue_offset = position + UNIT_SIZE, record.queue_offset + 1
                break
        log.cut(end)
        return queue_offset

    # -- saving --------------------------------------------------------------------------------------------------------

    def save(self, progress: tuple[int, int, int], now_ms: int) -> None:
        """On a thread, for it waits for the disk."""
        read_time, position, queue_offset = progress
        self.check = TimerCheck(
            read_time=read_time, log_position=position, queue_offset=queue_offset, master_queue_offset=queue_offset,
            state_version=self.check.state_version, timestamp=now_ms, counter=self.check.counter + 1,
        )  # fmt: skip
        self._saver.submit(self._write, self.check).add_done_callback(self._written)

    def await_saved(self) -> None:
        self._saver.submit(int).result()

    def _write(self, check: TimerCheck) -> None:
        """Wheel and log first: what `timercheck` says is behind us must not be missing from them.

        A sync of these that fails is final, as it is for the log: the next one would prove nothing.
        """
        if self.opened is None or self._store.failure is not None:
            return
        try:
            self.opened.log.sync()
            self.opened.wheel.sync()
        except OSError as error:
            if not can_pass(error):
                raise
            self._not_saved(error)
            return
        try:
            self._keep(check)
            self.opened.log.remove_before(self._store.log.min_offset)
        except OSError as error:  # it is written as a whole each time, so the next one does prove something
            self._not_saved(error)

    def _keep(self, check: TimerCheck) -> None:
        self._files.write_bytes(self._check_path, check.encode())
        self._safe_check = check

    def _not_saved(self, error: OSError) -> None:
        events.error("timers not saved", error)
        self.check = self._safe_check
        self._on_not_saved()

    def _written(self, done: Future[None]) -> None:
        error = done.exception()
        if error is not None:
            self._store.fail(FlushFailed(f"timers could not be flushed: {error!r}; no more messages are taken"))


def _relink(wheel: TimerWheel, log: TimerLog, read_time: int) -> None:
    """After a crash the wheel may be behind or ahead of the log: build what is still to come from the log."""
    wheel.clear_from(read_time)
    wheel.link(log.runs(log.begin), read_time)
