"""The broker's own figures, and the statistics of topics and groups.

RocketMQ's keys stand for a broker with thread pools and locks. Here one loop serves everyone, so a request waits as
long as the loop is late, whatever pool it would have been in; and no lock is ever held for long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sprocketmq.broker.admin.consumer_lag import FallBehind
from sprocketmq.broker.delay.levels import Schedule
from sprocketmq.broker.metrics.history import DAY, HOUR, MINUTE, Span
from sprocketmq.broker.metrics.stats import Figure, Stats, StatUnit
from sprocketmq.broker.send.backpressure import Pressure
from sprocketmq.broker.send.durable_acks import Acks
from sprocketmq.broker.settings import Settings
from sprocketmq.codes import VERSION, VERSION_NAME, RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.registration import KVTable
from sprocketmq.protocol.bodies.stats import BrokerStatsData, BrokerStatsItem
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields
from sprocketmq.protocol.headers.broker import ViewBrokerStatsDataRequestHeader
from sprocketmq.remoting import Connection, ProcessorTable, Reply
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.store import MessageStore

#: Tells more of the broker's figures; a later source wins.
Source = Callable[[], Mapping[str, str]]

#: RocketMQ's thread pools, and how many requests may wait for each.
_POOLS = {"send": 10_000, "pull": 100_000, "query": 20_000, "litePull": 100_000, "ack": 100_000}
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


class FigureProcessors:
    def __init__(
        self, settings: Settings, store: MessageStore, stats: Stats, pressure: Pressure, acks: Acks,
        schedule: Schedule, behind: FallBehind, clock: Clock, sources: list[Source],
    ) -> None:  # fmt: skip
        self._settings = settings
        self._store = store
        self._stats = stats
        self._pressure = pressure
        self._acks = acks
        self._clock = clock
        self._schedule = schedule
        self._behind = behind
        self._sources = sources

    def add_to(self, table: ProcessorTable) -> None:
        table.add(RequestCode.GET_BROKER_RUNTIME_INFO, self.runtime_info)
        table.add(RequestCode.VIEW_BROKER_STATS_DATA, self.view_stats)

    # -- runtime info -------------------------------------------------------------------------------------------------

    def runtime_info(self, _connection: Connection, request: Command) -> Reply:
        table = {
            **self._times(), **self._puts_and_gets(), **self._log(), **self._disks(), **self._pools(), **self._delayed()
        }  # fmt: skip
        for source in self._sources:
            table |= source()
        return request.reply(body=codec.encode(KVTable(table=table)))

    def _times(self) -> dict[str, str]:
        booted = self._store.boot_timestamp
        return {
            "bootTimestamp": str(booted),
            "runtime": duration(self._clock.now_ms() - booted),
            "brokerActive": "true" if self._store.failure is None else "false",
            "brokerVersion": str(VERSION),
            "brokerVersionDesc": VERSION_NAME,
            "brokerImplementation": "SprocketMQ",  # tools take the version for Apache's, and people should not
            "startAcceptSendRequestTimeStamp": str(self._settings.current.start_accept_send_request_time_stamp),
        }

    def _puts_and_gets(self) -> dict[str, str]:
        stats = self._stats
        stats.add_up()
        puts = stats.broker_puts
        mornings, times = stats.mornings, self._store.appender.times
        put, found, missed, transferred = (stats.rates.tps(which) for which in range(4))
        total = (found[0] + missed[0], found[1] + missed[1], found[2] + missed[2])
        return {
            "msgPutTotalYesterdayMorning": str(mornings.yesterday[0]),
            "msgPutTotalTodayMorning": str(mornings.today[0]),
            "msgPutTotalTodayNow": str(stats.user_puts.count),
            "msgGetTotalYesterdayMorning": str(mornings.yesterday[1]),
            "msgGetTotalTodayMorning": str(mornings.today[1]),
            "msgGetTotalTodayNow": str(stats.user_gets.count),
            "putMessageTimesTotal": str(self._store.appender.put_times),
            "putMessageFailedTimes": str(self._store.appender.failed_times),
            "putMessageSizeTotal": str(puts.size),
            "putMessageAverageSize": str(puts.size / puts.count if puts.count else 0.0),
            "putMessageDistributeTime": times.distribution(),
            "putMessageEntireTimeMax": f"{times.worst_ns / 1e6:.0f}",
            "getMessageEntireTimeMax": f"{self._pressure.worst_lag_ms:.0f}",
            "putTps": _triple(put),
            "getFoundTps": _triple(found),
            "getMissTps": _triple(missed),
            "getTotalTps": _triple(total),
            "getTransferredTps": _triple(transferred),
            "getTransferedTps": _triple(transferred),  # as RocketMQ 4 spells it
            "putLatency99": f"{times.within_ms(0.99):.2f}",
            "putLatency999": f"{times.within_ms(0.999):.2f}",
        }

    def _log(self) -> dict[str, str]:
        store = self._store
        end = store.log.max_offset
        table = {
            "commitLogMinOffset": str(store.log.min_offset),
            "commitLogMaxOffset": str(end),
            "dispatchBehindBytes": str(end - store.dispatcher.dispatched_offset),
            "dispatchMaxBuffer": "0",
            "earliestMessageTimeStamp": str(store.reader.log_earliest_time()),
            "pageCacheLockTimeMills": "0",
            "remainTransientStoreBufferNumbs": str(0x7FFFFFFF),
            "remainHowManyDataToFlush": size(end - store.flushed_offset),
        }
        if store.config.transient_buffer:  # else nothing is committed apart from being flushed
            table["remainHowManyDataToCommit"] = size(end - store.flusher.committed_offset)
        return table

    def _disks(self) -> dict[str, str]:
        cleaner, folders = self._store.cleaner, self._store.layout.commit_log_dirs
        used, total = cleaner.usage(folders[0])
        table = {
            "commitLogDiskRatio": str(round(cleaner.commit_log_ratio(), 4)),
            "consumeQueueDiskRatio": str(round(cleaner.consume_queue_ratio(), 4)),
            "commitLogDirCapacity": f"Total : {size(total)}, Free : {size(total - used)}.",
        }
        return table | {f"commitLogDiskRatio_{folder}": str(round(cleaner.ratio(folder), 4)) for folder in folders}

    def _pools(self) -> dict[str, str]:
        capacities = _POOLS | {"send": self._settings.current.send_thread_pool_queue_capacity}
        sizes = {"send": len(self._acks)}
        table = {"EndTransactionQueueSize": "0", "EndTransactionThreadPoolQueueCapacity": "100000"}
        for pool, capacity in capacities.items():
            table[f"{pool}ThreadPoolQueueSize"] = str(sizes.get(pool, 0))
            table[f"{pool}ThreadPoolQueueCapacity"] = str(capacity)
            table[f"{pool}ThreadPoolQueueHeadWaitTimeMills"] = f"{self._pressure.lag_ms:.0f}"
        return table

    def _delayed(self) -> dict[str, str]:
        """Per delay level the next offset and the end of its queue."""
        return {
            f"scheduleMessageOffset_{level}": f"{offset},{end}"
            for level, (offset, end) in self._schedule.backlog().items()
            if end
        }

    # -- statistics ---------------------------------------------------------------------------------------------------

    def view_stats(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(ViewBrokerStatsDataRequestHeader, request.ext_fields)
        figure = self._stats.get(header.stats_name, header.stats_key)
        if figure is not None:
            body = BrokerStatsData(
                stats_minute=self._item(figure, MINUTE),
                stats_hour=self._item(figure, HOUR),
                stats_day=self._item(figure, DAY),
            )
            return request.reply(body=codec.encode(body))
        moment = self._behind.get(header.stats_name, header.stats_key)
        if moment is None:
            remark = f"nothing was counted as {header.stats_name} of {header.stats_key}"
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
        item = BrokerStatsItem(sum=moment, tps=0.0, avgpt=float(moment))
        return request.reply(body=codec.encode(BrokerStatsData(stats_minute=item, stats_hour=item, stats_day=item)))

    def _item(self, figure: Figure, span: Span) -> BrokerStatsItem:
        """`avgpt` is the average of one message: its size, its milliseconds, or 1."""
        window = figure.history.window(span, self._stats.clock())
        totals = {StatUnit.NUMS: window.count, StatUnit.SIZE: window.size, StatUnit.LATENCY: window.micros // 1000}
        total = totals[figure.unit]
        return BrokerStatsItem(
            sum=total, tps=total / window.seconds, avgpt=total / window.count if window.count else 0.0
        )


def _triple(averages: tuple[float, float, float]) -> str:
    return " ".join(str(round(average, 4)) for average in averages)


def duration(milliseconds: int) -> str:
    """As RocketMQ writes how long a broker runs."""
    minutes, seconds = divmod(max(milliseconds, 0) // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"[ {days} days, {hours} hours, {minutes} minutes, {seconds} seconds ]"


def size(count: int) -> str:
    """`6.6 KiB`"""
    amount, unit = float(max(count, 0)), 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.1f} {_UNITS[unit]}" if unit else f"{count} B"
