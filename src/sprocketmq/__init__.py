"""SprocketMQ: Apache RocketMQ's protocol, store and brokers for Python, with a data pipeline on Spark.

The client's names are here as well, and are imported when they are first used:

    from sprocketmq import Message, Producer, PullConsumer, PushConsumer
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sprocketmq.hot import loader

if TYPE_CHECKING:
    from sprocketmq.client import AdminClient as AdminClient
    from sprocketmq.client import ConsumeResult as ConsumeResult
    from sprocketmq.client import ConsumerSettings as ConsumerSettings
    from sprocketmq.client import Message as Message
    from sprocketmq.client import MessageQueue as MessageQueue
    from sprocketmq.client import Producer as Producer
    from sprocketmq.client import ProducerSettings as ProducerSettings
    from sprocketmq.client import PullConsumer as PullConsumer
    from sprocketmq.client import PullSettings as PullSettings
    from sprocketmq.client import PushConsumer as PushConsumer
    from sprocketmq.client import ReceivedMessage as ReceivedMessage
    from sprocketmq.client import Retry as Retry
    from sprocketmq.client import SendReceipt as SendReceipt
    from sprocketmq.client import TransactionState as TransactionState

loader.install_if_asked()

__version__ = "0.1.0"

_CLIENT = frozenset({
    "AdminClient", "ConsumeResult", "ConsumerSettings", "Message", "MessageQueue", "Producer", "ProducerSettings",
    "PullConsumer", "PullSettings", "PushConsumer", "ReceivedMessage", "Retry", "SendReceipt", "TransactionState",
})  # fmt: skip

__all__ = ["__version__", *sorted(_CLIENT)]


def __getattr__(name: str) -> Any:
    if name not in _CLIENT:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sprocketmq import client

    return getattr(client, name)
