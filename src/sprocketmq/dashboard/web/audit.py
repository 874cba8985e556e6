"""Who changed what: a line in the log for each change that was asked for, and the last ones for the page."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

from sprocketmq.logs import Events

events = Events("sprocketmq.dashboard.audit")

_KEPT = 100


@dataclass(frozen=True, slots=True)
class Change:
    when_ms: int
    account: str
    peer: str
    action: str
    target: str
    outcome: str


class ConsoleAudit:
    def __init__(self) -> None:
        self.changes: deque[Change] = deque(maxlen=_KEPT)

    def note(self, account: str, peer: str, action: str, target: str, outcome: str = "done") -> None:
        self.changes.appendleft(Change(time.time_ns() // 1_000_000, account, peer, action, target, outcome))
        events.info("change", action=action, target=target, account=account, peer=peer, outcome=outcome)
