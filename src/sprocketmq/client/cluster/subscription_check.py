"""Asks the brokers whether they understand an SQL92 subscription, before a consumer relies on it."""

from __future__ import annotations

from sprocketmq.client.cluster.instance import ClientInstance
from sprocketmq.client.errors import NoRoute, Offline
from sprocketmq.client.subscription import Subscription
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.heartbeat import CheckClientRequestBody
from sprocketmq.protocol.names import TAG


async def check_subscription(instance: ClientInstance, group: str, subscription: Subscription) -> None:
    """Raises Refused with the broker's own words. Tags need no asking."""
    if subscription.kind == TAG:
        return
    try:
        route = await instance.routes.get(subscription.topic)
    except (NoRoute, Offline):
        return  # nothing to filter yet
    body = codec.encode(
        CheckClientRequestBody(client_id=instance.client_id, group=group, subscription_data=subscription.data())
    )
    for broker_name in route.addresses:
        if (address := route.address(broker_name)) is not None:
            await instance.call(address, RequestCode.CHECK_CLIENT_CONFIG, body=body)
