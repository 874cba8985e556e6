"""The knobs of producers and consumers, with RocketMQ's defaults. Times are in seconds.

Each is explained by the text below it; `scripts/client_settings.py` makes docs/client-settings.md of them.
Imported when they are first used: a producer does not pay for those of consumers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sprocketmq.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from sprocketmq.client.consumer_settings import ConsumerSettings as ConsumerSettings
    from sprocketmq.client.consumer_settings import FlowLimits as FlowLimits
    from sprocketmq.client.consumer_settings import PullSettings as PullSettings
    from sprocketmq.client.producer_settings import Batching as Batching
    from sprocketmq.client.producer_settings import ProducerSettings as ProducerSettings

_HOMES = {
    "sprocketmq.client.consumer_settings": ("ConsumerSettings", "FlowLimits", "PullSettings"),
    "sprocketmq.client.producer_settings": ("Batching", "ProducerSettings"),
}

__all__, __getattr__, __dir__ = lazy_exports(__name__, _HOMES)
