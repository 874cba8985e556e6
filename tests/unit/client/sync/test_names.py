"""The synchronous clients have the names of the asynchronous ones, as the documents promise."""

from __future__ import annotations

import pytest

from sprocketmq.client import Producer, PullConsumer, PushConsumer, sync

#: The face to the instance; and what waits for room, which a synchronous submit does by itself.
INSIDE = {
    Producer: {"check_transaction", "group", "instance", "sender"} | {"enqueue", "enqueue_all", "is_full", "room"},
    PullConsumer: set(),
    PushConsumer: {
        "consume_directly", "consumed_offsets", "heartbeat", "rebalance_soon", "reset_offsets", "running_info",
        "topics",
    },
}  # fmt: skip


@pytest.mark.parametrize("client", INSIDE)
def test_the_same_names(client: type) -> None:
    twin = getattr(sync, client.__name__)
    assert {name for name in dir(client) if not name.startswith("_") and not hasattr(twin, name)} == INSIDE[client]
