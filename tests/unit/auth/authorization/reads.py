"""The requests that show secrets, addresses or other people's data."""

from __future__ import annotations

from sprocketmq.auth.authorization.request_table import ROWS, Asker

READS = frozenset(row.code for row in ROWS if not row.changes and row.role in (Asker.ADMIN, Asker.ADMIN_OR_BROKER))
