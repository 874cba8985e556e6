"""The asyncio client: producers, consumers and administration, for SprocketMQ and Apache RocketMQ alike.

    producer    sends messages: single, batches, transactions, requests with replies
    push        queues are shared out, pulled ahead, and handed to the user's function
    pull        the user asks for messages, and may choose where to read
    admin       topics, groups, offsets, messages and brokers
    cluster     what they share: connections, routes, heartbeats
    telemetry   hooks, OpenTelemetry, message traces
    sync        the same client for threads: one event loop behind it
    blocking    plain sockets without an event loop, for Spark's workers

Names are imported when they are first used, so that a command which needs one of them does not pay for all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sprocketmq.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from sprocketmq.client.admin import AdminClient as AdminClient
    from sprocketmq.client.cluster.replies import Reply as Reply
    from sprocketmq.client.errors import ClientError as ClientError
    from sprocketmq.client.errors import Closed as Closed
    from sprocketmq.client.errors import InvalidMessage as InvalidMessage
    from sprocketmq.client.errors import InvalidName as InvalidName
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
    from sprocketmq.client.producer.producer import Producer as Producer
    from sprocketmq.client.producer.receipts import ReceiptFuture as ReceiptFuture
    from sprocketmq.client.producer.transactions import TransactionState as TransactionState
    from sprocketmq.client.pull.consumer import PullConsumer as PullConsumer
    from sprocketmq.client.push.consumer import PushConsumer as PushConsumer
    from sprocketmq.client.push.handlers import ConsumeResult as ConsumeResult
    from sprocketmq.client.push.handlers import Retry as Retry
    from sprocketmq.client.received import ReceivedMessage as ReceivedMessage
    from sprocketmq.client.settings import Batching as Batching
    from sprocketmq.client.settings import ConsumerSettings as ConsumerSettings
    from sprocketmq.client.settings import FlowLimits as FlowLimits
    from sprocketmq.client.settings import ProducerSettings as ProducerSettings
    from sprocketmq.client.settings import PullSettings as PullSettings
    from sprocketmq.protocol.message_queue import MessageQueue as MessageQueue

_HOMES = {
    "sprocketmq.client.admin": ("AdminClient",),
    "sprocketmq.client.push.handlers": ("ConsumeResult", "Retry"),
    "sprocketmq.client.push.consumer": ("PushConsumer",),
    "sprocketmq.client.errors": (
        "ClientError", "Closed", "InvalidMessage", "InvalidName", "NoBroker", "NoRoute", "Offline", "Overloaded",
        "Refused", "TimedOut", "Unreachable",
    ),
    "sprocketmq.client.message": ("Message", "SendReceipt", "SendStatus"),
    "sprocketmq.client.options": ("ClientOptions", "Credentials"),
    "sprocketmq.client.producer.producer": ("Producer",),
    "sprocketmq.client.pull.consumer": ("PullConsumer",),
    "sprocketmq.client.producer.receipts": ("ReceiptFuture",),
    "sprocketmq.client.received": ("ReceivedMessage",),
    "sprocketmq.client.cluster.replies": ("Reply",),
    "sprocketmq.client.settings": ("Batching", "ConsumerSettings", "FlowLimits", "ProducerSettings", "PullSettings"),
    "sprocketmq.client.producer.transactions": ("TransactionState",),
    "sprocketmq.protocol.message_queue": ("MessageQueue",),
}  # fmt: skip

__all__, __getattr__, __dir__ = lazy_exports(__name__, _HOMES)
