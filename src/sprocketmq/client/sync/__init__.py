"""The client for code without an event loop: the same names, the same arguments, and calls that wait.

    with Producer("orders-service", nameserver="127.0.0.1:9876") as producer:
        receipt = producer.send(Message("orders", b"one apple"))

Every object may be shared by threads. One that was made before a fork (gunicorn with preload, multiprocessing) works in
the child as well: it connects anew there, under a client id of its own.

Names are imported when they are first used: a program that sends does not pay for consumers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sprocketmq.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from sprocketmq.client.sync.producer import Producer as Producer
    from sprocketmq.client.sync.pull_consumer import PullConsumer as PullConsumer
    from sprocketmq.client.sync.push_consumer import PushConsumer as PushConsumer

_HOMES = {
    "sprocketmq.client.sync.producer": ("Producer",),
    "sprocketmq.client.sync.pull_consumer": ("PullConsumer",),
    "sprocketmq.client.sync.push_consumer": ("PushConsumer",),
}

__all__, __getattr__, __dir__ = lazy_exports(__name__, _HOMES)
