"""What systemd is told (sd_notify): ready, stopping, and that the event loop still turns.

A unit of `Type=notify` counts as started when its services are, and with `WatchdogSec=` one whose loop no longer turns
is started again. Without systemd nothing is sent. The protocol: one datagram of `KEY=VALUE` lines to the socket that
NOTIFY_SOCKET names; a leading `@` stands for the NUL of an abstract name.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from types import TracebackType

_SOCKET, _WATCHDOG = "NOTIFY_SOCKET", "WATCHDOG_USEC"


class Notifier:
    """`with Notifier() as systemd:` around the life of the services; `systemd.ready()` when they have started."""

    def __init__(self) -> None:
        self._address = os.environ.get(_SOCKET, "")
        text = os.environ.get(_WATCHDOG, "")
        self._watchdog_seconds = int(text) / 1e6 if text.isdecimal() else 0.0
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Notifier:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        self._stop_timer()

    def ready(self, status: str) -> None:
        self._send(f"READY=1\nSTATUS={status}")
        if self._watchdog_seconds > 0:
            self._wake()

    def stopping(self) -> None:
        """From now on the stop may take its time: nobody watches the loop any more."""
        self._stop_timer()
        self._send("STOPPING=1")

    def _wake(self) -> None:
        self._send("WATCHDOG=1")
        self._timer = asyncio.get_running_loop().call_later(self._watchdog_seconds / 2, self._wake)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _send(self, text: str) -> None:
        if not self._address:
            return
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending:
            sending.connect(address)
            sending.send(text.encode())
