"""What a broker does by the clock: it saves, expires, samples and cleans, and tries again what could not be done."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sprocketmq.broker.metrics.stats import SAMPLE_SECONDS
from sprocketmq.broker.periodic import Periodic
from sprocketmq.broker.pull.cold_data import PERIOD_SECONDS
from sprocketmq.broker.static_topic.retention import CLEAN_SECONDS
from sprocketmq.errors import FilterError
from sprocketmq.filter.sql import compile_sql
from sprocketmq.logs import Events

if TYPE_CHECKING:
    from sprocketmq.broker.broker import Broker

events = Events("sprocketmq.broker.broker")

_CLIENT_SCAN_SECONDS = 10.0
_FILTER_SAVE_SECONDS = 10.0
_CLEANING_PAUSE_SECONDS = 0.01
_WARMING_SECONDS = 1.0
#: What could not be dispatched, say for want of a file descriptor, is tried again, whether or not anybody sends.
_DISPATCH_SECONDS = 1.0


class BackgroundJobs:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._warming: asyncio.TimerHandle | None = None
        self._removed: list[Path] = []
        self._syncing: asyncio.Future[None] | None = None
        settings, store = broker.settings, broker.store
        self._jobs = [
            Periodic(
                "save offsets", lambda: settings.current.flush_consumer_offset_interval / 1000, self._save_offsets
            ),
            Periodic("expire clients", lambda: _CLIENT_SCAN_SECONDS, self.expire_clients),
            Periodic("save filters", lambda: _FILTER_SAVE_SECONDS, broker.filters.begin_save),
            Periodic("forget cold reads", lambda: PERIOD_SECONDS, broker.cold.begin_period),
            Periodic("clean mappings", lambda: CLEAN_SECONDS, broker.mapping_cleaner.begin),
            Periodic("dispatch again", lambda: _DISPATCH_SECONDS, broker.acks.progress),
            Periodic("try held queues again", lambda: _DISPATCH_SECONDS, store.held.heal),
            Periodic("sample stats", lambda: SAMPLE_SECONDS, self._sample),
            Periodic("clean files", lambda: settings.store.clean_resource_interval / 1000, self._clean_files),
            Periodic("clean queues", self._cleaning_pause, store.cleaner.go_on),
        ]

    def __iter__(self) -> Iterator[Periodic]:
        return iter(self._jobs)

    def start(self) -> None:
        if self._broker.settings.current.enable_property_filter:
            self._warming = asyncio.get_running_loop().call_later(_WARMING_SECONDS, _warm_filters)
        for job in self._jobs:
            job.start()

    def stop(self) -> None:
        for job in self._jobs:
            job.stop()
        self._syncing = None
        if self._warming is not None:
            self._warming.cancel()

    def expire_clients(self) -> None:
        broker = self._broker
        timeout = broker.settings.current.channel_expired_timeout
        broker.producers.expire(timeout)
        broker.consumers.expire(timeout)
        broker.locks.expire()

    def _save_offsets(self) -> None:
        self._broker.kinds.begin_progress()
        self._broker.offsets.saver.begin()

    def _sample(self) -> None:
        self._broker.stats.sample(datetime.fromtimestamp(self._broker.clock.now_ms() / 1000).date())

    def _clean_files(self) -> None:
        self._removed += self._broker.store.cleaner.run()
        if self._removed and self._syncing is None:
            removed, self._removed = self._removed, []
            self._syncing = asyncio.get_running_loop().run_in_executor(None, self._broker.store.cleaner.sync, removed)
            self._syncing.add_done_callback(self._files_went)

    def _files_went(self, done: asyncio.Future[None]) -> None:
        """What points into them goes, also where the disk does not say that they did: they are not served again."""
        if done is not self._syncing:
            return  # the broker has been stopped meanwhile
        self._syncing = None
        error = done.exception()
        if error is not None:
            events.error("deleted log files not synced", error)
        self._broker.store.cleaner.drop_what_points_nowhere()

    def _cleaning_pause(self) -> float:
        """Between two slices of work on the queues others have their turn."""
        return _CLEANING_PAUSE_SECONDS if self._broker.store.cleaner.busy else 1.0


def _warm_filters() -> None:
    """The first expression takes long: better on a thread than in a client's pull, or before the first answer."""
    asyncio.get_running_loop().run_in_executor(None, _load_filters)


def _load_filters() -> None:
    """Builds the grammar. Without its package each expression is refused, which is told once."""
    try:
        compile_sql("TRUE")
    except FilterError as missing:
        events.warning("no SQL92 subscriptions", why=missing)
    except Exception as error:  # noqa: BLE001 - the edge of the thread: nobody asks what became of it
        events.error("SQL92 grammar not built", error)
