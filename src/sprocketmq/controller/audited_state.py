"""What the audit shows of a controller's broker sets and settings before and after a change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sprocketmq.auth.audit.before_and_after import settings_look
from sprocketmq.codes import RequestCode as C
from sprocketmq.protocol.command import Command

if TYPE_CHECKING:
    from sprocketmq.auth.audit.trail import Look
    from sprocketmq.controller.server import Controller


def controller_looks(controller: Controller) -> dict[int, Look]:
    def broker_set(request: Command) -> str:
        found = controller.sets.get((request.ext_fields or {}).get("brokerName", ""))
        return "" if found is None else found.encode().decode()

    return {
        C.UPDATE_CONTROLLER_CONFIG: settings_look(controller.settings.entries),
        C.CONTROLLER_ELECT_MASTER: broker_set,
        C.CLEAN_BROKER_DATA: broker_set,
    }
