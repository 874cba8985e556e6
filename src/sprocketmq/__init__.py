"""SprocketMQ: Apache RocketMQ's protocol, store and brokers for Python, with a data pipeline on Spark.

The client's names are here as well, and are imported when they are first used:

    from sprocketmq import Message, Producer, PullConsumer, PushConsumer
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sprocketmq.hot import loader

if TYPE_CHECKING:
    from sprocketmq.client import AdminClient as AdminClient
    from sprocketmq.client import Batching as Batching
    from sprocketmq.client import ClientError as ClientError
    from sprocketmq.client import ClientOptions as ClientOptions
    from sprocketmq.client import Closed as Closed
    from sprocketmq.client import ConsumeResult as ConsumeResult
    from sprocketmq.client import ConsumerSettings as ConsumerSettings
    from sprocketmq.client import Credentials as Credentials
    from sprocketmq.client import FlowLimits as FlowLimits
    from sprocketmq.client import InvalidMessage as InvalidMessage
    from sprocketmq.client import InvalidName as InvalidName
    from sprocketmq.client import Message as Message
    from sprocketmq.client import MessageQueue as MessageQueue
    from sprocketmq.client import NoBroker as NoBroker
    from sprocketmq.client import NoRoute as NoRoute
    from sprocketmq.client import Offline as Offline
    from sprocketmq.client import Overloaded as Overloaded
    from sprocketmq.client import Producer as Producer
    from sprocketmq.client import ProducerSettings as ProducerSettings
    from sprocketmq.client import PullConsumer as PullConsumer
    from sprocketmq.client import PullSettings as PullSettings
    from sprocketmq.client import PushConsumer as PushConsumer
    from sprocketmq.client import ReceiptFuture as ReceiptFuture
    from sprocketmq.client import ReceivedMessage as ReceivedMessage
    from sprocketmq.client import Refused as Refused
    from sprocketmq.client import Reply as Reply
    from sprocketmq.client import Retry as Retry
    from sprocketmq.client import SendReceipt as SendReceipt
    from sprocketmq.client import SendStatus as SendStatus
    from sprocketmq.client import TimedOut as TimedOut
    from sprocketmq.client import TransactionState as TransactionState
    from sprocketmq.client import Unreachable as Unreachable

loader.install_if_asked()

__version__ = "0.1.0"

_CLIENT = frozenset({
    "AdminClient", "Batching", "ClientError", "ClientOptions", "Closed", "ConsumeResult", "ConsumerSettings",
    "Credentials", "FlowLimits", "InvalidMessage", "InvalidName", "Message", "MessageQueue", "NoBroker", "NoRoute",
    "Offline", "Overloaded", "Producer", "ProducerSettings", "PullConsumer", "PullSettings", "PushConsumer",
    "ReceiptFuture", "ReceivedMessage", "Refused", "Reply", "Retry", "SendReceipt", "SendStatus", "TimedOut",
    "TransactionState", "Unreachable",
})  # fmt: skip

__all__ = ["__version__", *sorted(_CLIENT)]


def __getattr__(name: str) -> Any:
    if name not in _CLIENT:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sprocketmq import client

    return getattr(client, name)


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
