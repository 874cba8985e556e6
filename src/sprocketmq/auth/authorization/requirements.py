"""What one request needs: every one of its needs must be allowed, and of a need's actions any one is enough.

A retry topic stands for its group. RocketMQ asks for the group that a send to one names in another field, so that
whoever may consume anything may write into anybody's retries; here it is the group whose retry topic it is.

What a POP tries again is in a topic named after group and topic, and is acknowledged there. RocketMQ takes both names
together for that of a group, which nobody has a policy for; here they are the group and the topic that they are.

A body may name thousands of things, so it is read in steps (remoting/turns.py): None stands where others may have a
turn.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass

from sprocketmq.auth.authorization.request_table import REQUESTS, Named, Row
from sprocketmq.auth.authorization.resources import Action, ResourceType
from sprocketmq.codes import RequestCode as C
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.group import SubscriptionGroupConfig, SubscriptionGroupList
from sprocketmq.protocol.bodies.heartbeat import CheckClientRequestBody, ConsumerData, HeartbeatData
from sprocketmq.protocol.bodies.locks import LockBatchRequestBody
from sprocketmq.protocol.bodies.pop import (
    BatchAckMessageRequestBody,
    QueryAssignmentRequestBody,
    SetMessageRequestModeRequestBody,
)
from sprocketmq.protocol.bodies.topic import CreateTopicListRequestBody
from sprocketmq.protocol.names import RETRY_PREFIX, group_of_retries, is_retry_topic, pop_retry_topic
from sprocketmq.remoting.turns import each

#: What a body has been found to name; in its order, each once.
Names = dict[tuple[ResourceType, str], None]
ReadNames = Callable[[bytes, Names], Generator[None, None, None]]


@dataclass(frozen=True, slots=True)
class Need:
    type: ResourceType
    name: str
    actions: tuple[Action, ...]

    def __str__(self) -> str:
        return f"{self.type.word}:{self.name}"


def needs_of(row: Row, fields: Mapping[str, str], body: bytes, cluster: str) -> Iterator[Need | None]:
    """`cluster` is the server's own, for needs that no field names one for. BodyError when the body is not one."""
    yield from dict.fromkeys(need for named in row.named for need in _from_field(named, fields, cluster))
    if row.body:
        yield from _from_body(row, body)


def stored_need(row: Row, topic: str) -> Need:
    """What `row` needs on the topic of a record that it turned out to be about."""
    return _need(Named(ResourceType.TOPIC, row.stored), topic)


def _from_field(named: Named, fields: Mapping[str, str], cluster: str) -> Iterator[Need]:
    value = fields.get(named.field) or "" if named.field else ""
    if named.type is ResourceType.CLUSTER:
        yield Need(named.type, value or cluster, named.actions)
    elif value or not named.optional:
        if named.popped_by:
            value = _popped_topic(value, fields.get(named.popped_by) or "")
        for name in value.split(named.separator) if named.separator else [value]:
            yield _need(named, name)


def _popped_topic(topic: str, group: str) -> str:
    """Where `topic` holds what the POP of `group` tries again, the topic that it popped."""
    for separator in "_+" if group else "":
        prefix = pop_retry_topic(group, "", separator=separator)
        if topic.startswith(prefix):
            return topic.removeprefix(prefix)
    return topic


def _need(named: Named, name: str) -> Need:
    if named.type is ResourceType.TOPIC and is_retry_topic(name) and not named.literal:
        # Whoever writes there is a consumer that gives a message back.
        actions = (Action.SUB,) if named.actions == (Action.PUB,) else named.actions
        return Need(ResourceType.GROUP, group_of_retries(name), actions)
    if named.type is ResourceType.GROUP:
        name = name.removeprefix(RETRY_PREFIX)
    return Need(named.type, name, named.actions)


def _from_body(row: Row, body: bytes) -> Iterator[Need | None]:
    names: Names = {}
    yield from BODIES[row.code](body, names)
    asked = {named.type: named for named in row.body}
    for type_, name in names:
        if type_ in asked:
            yield _need(asked[type_], name)


def _note(names: Names, group: str | None = None, topic: str | None = None) -> None:
    for type_, name in ((ResourceType.GROUP, group), (ResourceType.TOPIC, topic)):
        if name is not None:
            names[type_, name] = None


def _heartbeat(body: bytes, names: Names) -> Generator[None, None, None]:
    def note(consumer: ConsumerData) -> None:
        _note(names, group=consumer.group_name)
        for subscribed in consumer.subscription_data_set:
            _note(names, topic=subscribed.topic)

    _, (consumers,) = codec.decode_apart(HeartbeatData, body, "consumer_data_set")
    yield from each(consumers, note)


def _locks(body: bytes, names: Names) -> Generator[None, None, None]:
    data, (queues,) = codec.decode_apart(LockBatchRequestBody, body, "mq_set")
    _note(names, group=data.consumer_group)
    yield from each(queues, lambda queue: _note(names, topic=queue.topic))


def _check_client(body: bytes, names: Names) -> Generator[None, None, None]:
    data = codec.decode(CheckClientRequestBody, body)
    _note(names, data.group, data.subscription_data.topic if data.subscription_data is not None else None)
    yield


def _assignment(body: bytes, names: Names) -> Generator[None, None, None]:
    data = codec.decode(QueryAssignmentRequestBody, body)
    _note(names, data.consumer_group, data.topic)
    yield


def _batch_ack(body: bytes, names: Names) -> Generator[None, None, None]:
    _, (acks,) = codec.decode_apart(BatchAckMessageRequestBody, body, "acks")
    yield from each(acks, lambda ack: _note(names, ack.consumer_group, ack.topic))


def _request_mode(body: bytes, names: Names) -> Generator[None, None, None]:
    data = codec.decode(SetMessageRequestModeRequestBody, body)
    _note(names, data.consumer_group, data.topic)
    yield


def _topics(body: bytes, names: Names) -> Generator[None, None, None]:
    _, (configs,) = codec.decode_apart(CreateTopicListRequestBody, body, "topic_config_list")
    yield from each(configs, lambda config: _note(names, topic=config.topic_name))


def _group(body: bytes, names: Names) -> Generator[None, None, None]:
    _note(names, group=codec.decode(SubscriptionGroupConfig, body).group_name)
    yield


def _groups(body: bytes, names: Names) -> Generator[None, None, None]:
    _, (configs,) = codec.decode_apart(SubscriptionGroupList, body, "group_config_list")
    yield from each(configs, lambda config: _note(names, group=config.group_name))


BODIES: dict[int, ReadNames] = {
    C.HEART_BEAT: _heartbeat,
    C.LOCK_BATCH_MQ: _locks,
    C.UNLOCK_BATCH_MQ: _locks,
    C.CHECK_CLIENT_CONFIG: _check_client,
    C.QUERY_ASSIGNMENT: _assignment,
    C.BATCH_ACK_MESSAGE: _batch_ack,
    C.SET_MESSAGE_REQUEST_MODE: _request_mode,
    C.UPDATE_AND_CREATE_TOPIC_LIST: _topics,
    C.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: _group,
    C.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: _groups,
}

assert {code for code, row in REQUESTS.items() if row.body} == BODIES.keys()
