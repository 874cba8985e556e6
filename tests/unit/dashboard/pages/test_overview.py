from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.unit.dashboard.site import Site

from sprocketmq import Message
from sprocketmq.client.sync import Producer
from sprocketmq.client.sync.admin import AdminClient
from sprocketmq.protocol.bodies.group import SubscriptionGroupConfig


def test_the_lag_of_all_groups_is_asked_for_when_all_else_is_answered(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that has many topics counts it for long, and answers nothing else meanwhile."""
    order: list[str] = []

    def noted(name: str, ask: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def asked(*given: Any, **named: Any) -> Any:
            order.append(f"{name}?")
            try:
                return await ask(*given, **named)
            finally:
                order.append(name)

        return asked

    admin = site.console.open_view.admin
    for name, part, method in (
        ("groups", admin.groups, "names"), ("topics", admin.topics, "names"), ("lag", admin.brokers, "lags"),
    ):  # fmt: skip
        monkeypatch.setattr(type(part), method, noted(name, getattr(type(part), method)))
    site.get("/")
    assert order.index("lag?") > max(order.index("groups"), order.index("topics"))


@pytest.mark.parametrize(("group", "counts"), [("overview-late", 3), ("CID_RMQ_SYS_TRANS", 0)])
def test_the_lag_is_that_of_the_groups_that_are_listed(
    admin: AdminClient, producer: Producer, group: str, counts: int
) -> None:
    """A broker's own groups have lag as well, and an open transaction is no message that a user has not consumed."""
    topic = f"of-{group}"
    admin.topics.create(topic, queues=1)
    for _ in range(3):
        producer.send(Message(topic, b"one"))
    broker = admin.brokers.status()[0].address
    before = admin.brokers.behind(broker)
    if group not in admin.groups.names(everything=True):
        admin.groups.create(SubscriptionGroupConfig(group_name=group))
    admin.offsets.reset(group, topic, "first")
    assert admin.brokers.behind(broker) - before == counts
