"""Who may ask what while there are no accounts: the peer's address decides, by the roles of the request table."""

from __future__ import annotations

from sprocketmq.auth.authorization.request_table import ROWS, Asker
from sprocketmq.remoting import ProcessorTable
from sprocketmq.remoting.config import ServerConfig


def guard_by_address(table: ProcessorTable, config: ServerConfig) -> None:
    """Put a guard around the handlers that are not for everyone; called when every part has added its own."""
    roles = {
        Asker.ADMIN: config.access(),
        Asker.BROKER: config.broker_access(),
        Asker.ADMIN_OR_BROKER: config.read_access(),
    }
    for role, allowed in roles.items():
        table.guard([row.code for row in ROWS if row.role is role], allowed.guard)
