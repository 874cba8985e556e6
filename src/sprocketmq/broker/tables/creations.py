"""Topics and groups that come to be because a peer uses them: so many in all, and so many a second of one address.

Each of them is kept on disk, announced, and sent to whoever copies the table, so what anybody may make by a send or a
heartbeat is bounded. Whoever may create them as an administrator is not held to it. An address that was quiet for a
while may make several seconds' worth at once: a client that starts has them all to make then.
"""

from __future__ import annotations

from sprocketmq.broker.settings import Settings
from sprocketmq.remoting.peer import Peer
from sprocketmq.store.files.clock import Clock

#: Seconds' worth that an address may make at once.
_BURST_SECONDS = 10
#: Addresses whose pace is remembered; one that is forgotten begins anew.
_MAX_ADDRESSES = 10_000


class Creations:
    def __init__(self, settings: Settings, clock: Clock) -> None:
        self.refused = 0
        self._settings = settings
        self._clock = clock
        self._access = settings.current.access()
        #: When each address will have earned what it made.
        self._earned_ms: dict[str, float] = {}

    def refuses(self, peer: Peer | None, count: int, limit: int) -> bool:
        """Whether `peer` may not make one more, of which there are `count` and may be `limit`. None is the broker."""
        if peer is None or self._access.allows(peer):
            return False
        if count < limit and self._keeps_pace(peer.host):
            return False
        self.refused += 1
        return True

    def _keeps_pace(self, host: str) -> bool:
        now = self._clock.monotonic_ms()
        cost = 1000 / self._settings.current.max_auto_created_per_second
        earned = max(self._earned_ms.get(host, 0.0), now) + cost
        if earned > now + _BURST_SECONDS * 1000:
            return False
        if len(self._earned_ms) >= _MAX_ADDRESSES and host not in self._earned_ms:
            self._earned_ms.clear()
        self._earned_ms[host] = earned
        return True
