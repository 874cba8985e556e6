"""Whether a history is one that a message queue may have.

    findings = check(history, Promises(may_lose_ms={"power": 500}))

Each rule is named in the module that checks it: `queues.py`, `offsets.py`, `transactions.py`, `deliveries.py`,
`topics.py`, `locks.py`. A rule speaks only when the history leaves no doubt; a call of unknown outcome excuses what it
may have done. It knows nothing of brokers: whoever records calls (`events.py`) can use it, for one node or for many.
"""

from __future__ import annotations

from tests.fault.history.deliveries import check_delays, check_pops, check_retries
from tests.fault.history.events import History
from tests.fault.history.findings import Finding, Losses, Promises
from tests.fault.history.locks import check_handlers, check_leaders, check_locks, check_logs
from tests.fault.history.offsets import check_offsets
from tests.fault.history.queues import check_queues
from tests.fault.history.topics import Generations, check_topics
from tests.fault.history.transactions import check_transactions


def check(history: History, promises: Promises | None = None) -> list[Finding]:
    losses, generations = Losses(history, promises or Promises()), Generations(history)
    return [
        *check_queues(history, losses, generations),
        *check_topics(history, generations),
        *check_offsets(history, losses, generations),
        *check_transactions(history, losses, generations),
        *check_delays(history, losses, generations),
        *check_retries(history, losses),
        *check_pops(history, losses),
        *check_locks(history, losses),
        *check_handlers(history),
        *check_leaders(history),
        *check_logs(history),
    ]
