"""Who is in a consumer group."""

from __future__ import annotations

from sprocketmq.client.cluster.instance import ClientInstance
from sprocketmq.client.cluster.route import Route
from sprocketmq.client.errors import ClientError, NoRoute, Refused
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.connections import GetConsumerListByGroupResponseBody
from sprocketmq.protocol.headers.client import GetConsumerListByGroupRequestHeader


async def group_members(instance: ClientInstance, group: str, route: Route) -> tuple[str, ...]:
    """Client ids, as one of the topic's brokers knows them: members heartbeat to all of them, so any will do.

    We are a member ourselves. A broker that does not say so has not had our heartbeat yet, or has forgotten it.
    """
    try:
        members = await _ask(instance, group, route)
        if instance.client_id in members:
            return members
    except Refused:
        pass
    await instance.heartbeat()
    return await _ask(instance, group, route)


async def _ask(instance: ClientInstance, group: str, route: Route) -> tuple[str, ...]:
    """Each id once: Apache's brokers name a client for each connection that they know of, and one that finds itself
    twice would leave half of its queues to itself.
    """
    last: ClientError = NoRoute(route.topic)
    header = GetConsumerListByGroupRequestHeader(consumer_group=group)
    for broker_name in sorted(route.addresses):
        address = route.address(broker_name)
        if address is None:
            continue
        try:
            answer = await instance.call(address, RequestCode.GET_CONSUMER_LIST_BY_GROUP, header)
        except ClientError as error:
            last = error
        else:
            found = codec.decode(GetConsumerListByGroupResponseBody, answer.body).consumer_id_list
            return tuple(dict.fromkeys(found))
    raise last
