"""What all pages share: the cluster as each account sees it, who signed in, jobs, and the record of changes.

Someone who signs in gets a seat: an admin client that signs with their keys, so that brokers decide what they may do.
The keys are in this process alone; the cookie names the seat and nothing else. Without access control there is one view
for all.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from sprocketmq import __version__, theme
from sprocketmq.client.errors import NoBroker
from sprocketmq.client.options import Credentials
from sprocketmq.dashboard.cluster.key_check import check_keys, wants_keys
from sprocketmq.dashboard.cluster.snapshots import Snapshots
from sprocketmq.dashboard.cluster.view import ClusterView
from sprocketmq.dashboard.config import ConsoleConfig
from sprocketmq.dashboard.jobs.job import Jobs
from sprocketmq.dashboard.web.audit import ConsoleAudit
from sprocketmq.dashboard.web.live import LiveParts
from sprocketmq.dashboard.web.render import environment
from sprocketmq.errors import SprocketError

STATIC = Path(__file__).with_name("static")

_IDLE_S = 8 * 3600.0
_MOST_SEATS = 200
_ACCESS_S = 15.0
_AFTER_FAILURE_S = 0.5


@dataclass
class Seat:
    account: str
    view: ClusterView
    used: float = field(default_factory=time.monotonic)


class Console:
    def __init__(self, config: ConsoleConfig, live: LiveParts | None = None) -> None:
        self.config = config
        self.templates = environment()
        self.audit = ConsoleAudit()
        self.live = live or LiveParts()
        self.jobs = Jobs()
        self.version = __version__
        self.style = theme.tokens() + (STATIC / "console.css").read_text("utf-8")
        self.script = (STATIC / "console.js").read_text("utf-8")
        self.style_hash = hashlib.sha256((self.style + self.script).encode()).hexdigest()[:12]
        self.open_view = ClusterView(config.options)
        self._seats: dict[str, Seat] = {}
        self._probes = Snapshots()
        #: What brokers said last of whether they want keys; None before the first of them spoke.
        self._guarded: bool | None = None
        self._signing_in = asyncio.Semaphore(4)

    async def start(self) -> None:
        await self.open_view.start()

    async def stop(self) -> None:
        self.live.stop()
        await self.jobs.stop()
        for name in list(self._seats):
            await self.leave(name)
        await self.open_view.stop()

    async def has_access_control(self) -> bool:
        """Whether brokers want to know who asks; a console with keys of its own answers for everyone."""
        if self.config.options.credentials is not None:
            return False
        return await self._probes.get("access", _ACCESS_S, self._wants_keys)

    async def _wants_keys(self) -> bool:
        """As the first broker says that answers. While none does it is as it was: silence opens no door."""
        try:
            self._guarded = await wants_keys(self.open_view)
        except SprocketError as error:
            if self._guarded is None and not isinstance(error, NoBroker):
                raise
        return bool(self._guarded)

    async def sign_in(self, access_key: str, secret_key: str) -> str:
        """The name of a new seat. Raises what the broker says when it does not know the keys."""
        async with self._signing_in:
            view = ClusterView(replace(self.config.options, credentials=Credentials(access_key, secret_key)))
            await view.start()
            try:
                await check_keys(view)
            except BaseException:
                await view.stop()
                await asyncio.sleep(_AFTER_FAILURE_S)  # guessing keys is slow work
                raise
        await self._make_room()
        name = secrets.token_urlsafe(24)
        self._seats[name] = Seat(access_key, view)
        return name

    def seat(self, name: str | None) -> Seat | None:
        """The seat, which is used by that."""
        if not self.is_taken(name):
            return None
        seat = self._seats[name or ""]
        seat.used = time.monotonic()
        return seat

    def is_taken(self, name: str | None) -> bool:
        """Whether someone signed in there, did not sign out and was here lately."""
        seat = self._seats.get(name or "")
        return seat is not None and time.monotonic() - seat.used <= _IDLE_S

    async def leave(self, name: str) -> None:
        seat = self._seats.pop(name, None)
        if seat is not None:
            await seat.view.stop()

    async def _make_room(self) -> None:
        now = time.monotonic()
        idle = [name for name, seat in self._seats.items() if now - seat.used > _IDLE_S]
        oldest = sorted(self._seats, key=lambda name: self._seats[name].used)[: len(self._seats) - _MOST_SEATS + 1]
        for name in {*idle, *(oldest if len(self._seats) >= _MOST_SEATS else ())}:
            await self.leave(name)
