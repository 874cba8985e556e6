"""The asyncio client: producers, consumers and administration, for SprocketMQ and Apache RocketMQ alike.

Names are imported when they are first used, so that a command which needs one of them does not pay for all.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sprocketmq.client.admin import AdminClient as AdminClient
    from sprocketmq.client.consumer.handlers import ConsumeResult as ConsumeResult
    from sprocketmq.client.consumer.handlers import Retry as Retry
    from sprocketmq.client.consumer.push import PushConsumer as PushConsumer
    from sprocketmq.client.errors import ClientError as ClientError
    from sprocketmq.client.errors import Closed as Closed
    from sprocketmq.client.errors import InvalidMessage as InvalidMessage
    from sprocketmq.client.errors import NoBroker as NoBroker
    from sprocketmq.client.errors import NoRoute as NoRoute
    from sprocketmq.client.errors import Offline as Offline
    from sprocketmq.client.errors import Overloaded as Overloaded
    from sprocketmq.client.errors import Refused as Refused
    from sprocketmq.client.errors import TimedOut as TimedOut
    from sprocketmq.client.errors import Unreachable as Unreachable
    from sprocketmq.client.message import Message as Message
    from sprocketmq.client.message import SendReceipt as SendReceipt
    from sprocketmq.client.message import SendStatus as SendStatus
    from sprocketmq.client.options import ClientOptions as ClientOptions
    from sprocketmq.client.options import Credentials as Credentials
    from sprocketmq.client.producer import Producer as Producer
    from sprocketmq.client.pulling.consumer import PullConsumer as PullConsumer
    from sprocketmq.client.receipts import ReceiptFuture as ReceiptFuture
    from sprocketmq.client.received import ReceivedMessage as ReceivedMessage
    from sprocketmq.client.replies import Reply as Reply
    from sprocketmq.client.settings import Batching as Batching
    from sprocketmq.client.settings import ConsumerSettings as ConsumerSettings
    from sprocketmq.client.settings import FlowLimits as FlowLimits
    from sprocketmq.client.settings import ProducerSettings as ProducerSettings
    from sprocketmq.client.settings import PullSettings as PullSettings
    from sprocketmq.client.transaction import TransactionState as TransactionState
    from sprocketmq.protocol.message_queue import MessageQueue as MessageQueue

_HOMES = {
    "sprocketmq.client.admin": ("AdminClient",),
    "sprocketmq.client.consumer.handlers": ("ConsumeResult", "Retry"),
    "sprocketmq.client.consumer.push": ("PushConsumer",),
    "sprocketmq.client.errors": (
        "ClientError", "Closed", "InvalidMessage", "NoBroker", "NoRoute", "Offline", "Overloaded", "Refused",
        "TimedOut", "Unreachable",
    ),
    "sprocketmq.client.message": ("Message", "SendReceipt", "SendStatus"),
    "sprocketmq.client.options": ("ClientOptions", "Credentials"),
    "sprocketmq.client.producer": ("Producer",),
    "sprocketmq.client.pulling.consumer": ("PullConsumer",),
    "sprocketmq.client.receipts": ("ReceiptFuture",),
    "sprocketmq.client.received": ("ReceivedMessage",),
    "sprocketmq.client.replies": ("Reply",),
    "sprocketmq.client.settings": ("Batching", "ConsumerSettings", "FlowLimits", "ProducerSettings", "PullSettings"),
    "sprocketmq.client.transaction": ("TransactionState",),
    "sprocketmq.protocol.message_queue": ("MessageQueue",),
}  # fmt: skip

_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = list(_HOME_OF)


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    return __all__
