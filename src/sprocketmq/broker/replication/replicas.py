"""How far the slaves have the log, and whether enough of them are there.

`inSyncReplicas` copies, the master's included, are needed for an acknowledgement; so the log is replicated up to what
the last of the needed slaves has reported. That only grows: a slave that goes away takes nothing back that it has
confirmed.
"""

from __future__ import annotations

from sprocketmq.broker.replication.slave_link import SlaveLink
from sprocketmq.broker.settings import Settings
from sprocketmq.store.store import MessageStore


class Replicas:
    """The `Copies` of a master without a controller."""

    gives_up = True

    def __init__(self, settings: Settings, store: MessageStore) -> None:
        self.offset = 0
        self.links: list[SlaveLink] = []
        self._settings = settings
        self._store = store

    @property
    def needed(self) -> int:
        """Slaves that must confirm under a synchronous role. RocketMQ 5's default would be none."""
        return (self._settings.current.in_sync_replicas or 2) - 1

    @property
    def timeout(self) -> float:
        return self._settings.current.slave_timeout / 1000

    @property
    def available(self) -> bool:
        return len(self.in_sync()) >= self.needed

    def in_sync(self) -> list[SlaveLink]:
        """The slaves that are not too far behind."""
        end, gap = self._store.log.max_offset, self._settings.current.gap_not_in_sync
        return [link for link in self.links if link.ack >= 0 and end - link.ack < gap]

    def came(self, link: SlaveLink) -> None:
        """It confirms from now on."""

    def closed(self, link: SlaveLink) -> None:
        """It confirms nothing more; what it has confirmed stays so."""

    def count(self) -> bool:
        """Look at what was reported; whether more of the log is replicated now."""
        needed = self.needed
        acks = sorted((link.ack for link in self.links), reverse=True)
        offset = acks[needed - 1] if 0 < needed <= len(acks) else 0
        if offset <= self.offset:
            return False
        self.offset = offset
        return True
