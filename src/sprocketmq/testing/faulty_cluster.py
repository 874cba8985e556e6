"""A cluster whose broker fails when a test wants it to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from sprocketmq.testing.broker_process import BrokerProcess
from sprocketmq.testing.cluster import LOOPBACK, EmbeddedCluster


class FaultyCluster(EmbeddedCluster):
    """The nameserver in this process, the broker in one of its own.

    with FaultyCluster() as cluster:
        cluster.kill_broker()           # as a crash does
        cluster.start_broker()          # on the same port, with the same store
    """

    def __init__(self, directory: Path | None = None, conf: Mapping[str, str] | None = None) -> None:
        super().__init__(directory, conf)
        self._process: BrokerProcess | None = None

    @property
    def broker(self) -> str:
        return f"{LOOPBACK}:{self._own().port}"

    @property
    def broker_name(self) -> str:
        return "broker-a"

    def start_broker(self) -> None:
        """After `stop_broker` or `kill_broker`; returns when it is ready."""
        self._own().start()

    def stop_broker(self) -> None:
        """Cleanly, as for an upgrade."""
        self._own().stop()

    def kill_broker(self) -> None:
        """As a crash does: nothing is flushed, and the nameserver does not know yet."""
        self._own().kill()

    def pause_broker(self) -> None:
        """It answers nobody, and its connections stay open, as behind a broken switch."""
        self._own().pause()

    def resume_broker(self) -> None:
        self._own().resume()

    def slow_disk(self, seconds: float) -> None:
        """Every sync takes so much longer; 0 makes the disk quick again."""
        self._own().slow_disk(seconds)

    def heal(self) -> None:
        """Back to a broker that runs."""
        self.resume_broker()
        self.slow_disk(0)
        self.start_broker()

    async def _start_broker(self, entries: Mapping[str, str]) -> None:
        self._process = BrokerProcess(entries)
        await asyncio.to_thread(self._process.start)  # it asks the nameserver, which runs on this loop

    async def _stop(self) -> None:
        if self._process is not None:
            await asyncio.to_thread(self._process.stop)
        await super()._stop()

    def _own(self) -> BrokerProcess:
        assert self._process is not None, "not started"
        return self._process
