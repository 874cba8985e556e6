"""What the audit shows of a nameserver's topics, keys and settings before and after a change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sprocketmq.auth.audit.before_and_after import settings_look
from sprocketmq.codes import RequestCode as C
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.permissions import PERM_WRITE

if TYPE_CHECKING:
    from sprocketmq.auth.audit.trail import Look
    from sprocketmq.nameserver.server import Nameserver


def nameserver_looks(nameserver: Nameserver) -> dict[int, Look]:
    looks = _Looks(nameserver)
    return {
        C.UPDATE_NAMESRV_CONFIG: settings_look(nameserver.settings.entries),
        C.PUT_KV_CONFIG: looks.value,
        C.DELETE_KV_CONFIG: looks.value,
        C.WIPE_WRITE_PERM_OF_BROKER: looks.writable,
        C.ADD_WRITE_PERM_OF_BROKER: looks.writable,
        C.DELETE_TOPIC_IN_NAMESRV: looks.brokers,
    }


class _Looks:
    def __init__(self, nameserver: Nameserver) -> None:
        self._nameserver = nameserver

    def value(self, request: Command) -> str:
        return self._nameserver.kv.get(_field(request, "namespace"), _field(request, "key")) or ""

    def writable(self, request: Command) -> str:
        """How many of a broker's topics producers are routed to."""
        name, topics = _field(request, "brokerName"), self._nameserver.routes.topics
        known = topics.of_brokers({name})
        count = sum(1 for topic in known if topics.queues(topic)[name].perm & PERM_WRITE)
        return f"{count} of {len(known)} topics"

    def brokers(self, request: Command) -> str:
        """Those that have the topic."""
        return ",".join(sorted(self._nameserver.routes.topics.queues(_field(request, "topic"))))


def _field(request: Command, name: str) -> str:
    return (request.ext_fields or {}).get(name, "")
