"""A client's request about a logical queue, and how parts of it are asked of the brokers that hold its items."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from sprocketmq.broker.static_topic.mappings import LogicalQueue
from sprocketmq.codes import RequestCode
from sprocketmq.errors import CommandError
from sprocketmq.protocol.bodies.mapping import LogicQueueMappingItem
from sprocketmq.protocol.command import Command

#: Requests with short names of fields.
_SHORT = (RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE)

#: Asks the broker of that name, which may be this one.
AskBroker = Callable[[str, Command], Awaitable[Command]]


class LogicalAsk:
    def __init__(self, request: Command, queue: LogicalQueue, ask: AskBroker) -> None:
        self.request = request
        self.queue = queue
        self._ask = ask

    def number(self, key: str) -> int:
        return number_in(self.request, key)

    @property
    def sys_flag(self) -> int:
        return self.number("f" if self.request.code in _SHORT else "sysFlag")

    async def of(self, item: LogicQueueMappingItem, code: int | None = None, **changed: object) -> Command:
        """What the broker that holds `item` answers to this request, with its physical queue and `changed` fields."""
        request = self.request
        place = {queue_field(request): str(item.queue_id), "lo": "false", "bname": item.bname}
        physical = Command(
            request.code if code is None else code,
            ext_fields={**(request.ext_fields or {}), **place, **{key: str(value) for key, value in changed.items()}},
            body=request.body,
            language=request.language,
            version=request.version,
        )
        return await self._ask(item.bname, physical)


def topic_of(request: Command) -> str:
    return (request.ext_fields or {}).get("b" if request.code in _SHORT else "topic", "")


def queue_field(request: Command) -> str:
    return "e" if request.code in _SHORT else "queueId"


def number_in(request: Command, key: str) -> int:
    try:
        return int((request.ext_fields or {})[key])
    except (KeyError, ValueError):
        raise CommandError(f"{key} is missing or no number") from None
