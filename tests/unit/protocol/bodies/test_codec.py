from __future__ import annotations

from dataclasses import replace

import pytest

from sprocketmq.errors import BodyError
from sprocketmq.protocol.bodies import codec, decode, encode, encode_pretty, encode_standard
from sprocketmq.protocol.bodies.group import SubscriptionGroupWrapper
from sprocketmq.protocol.bodies.heartbeat import ConsumerData, HeartbeatData, SubscriptionData
from sprocketmq.protocol.bodies.locks import LockBatchRequestBody, LockBatchResponseBody
from sprocketmq.protocol.bodies.offsets import ConsumerOffsetSerializeWrapper, ResetOffsetBody
from sprocketmq.protocol.bodies.pop import BatchAck
from sprocketmq.protocol.bodies.queue import ConsumeQueueData, QueryConsumeQueueResponseBody
from sprocketmq.protocol.bodies.route import BrokerData, TopicRouteData
from sprocketmq.protocol.bodies.stats import ConsumeStats, ConsumeStatsList, OffsetWrapper
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.protocol.enums import ConsumeFromWhere, ConsumeType, MessageModel
from sprocketmq.protocol.message_queue import MessageQueue

QUEUE = MessageQueue("T", "b", 1)


def test_unknown_keys_are_ignored_and_null_is_the_default() -> None:
    assert decode(TopicConfig, '{"topicName":"T","later":{"x":[1]},"attributes":null,"perm":null}') == TopicConfig(
        topic_name="T"
    )


@pytest.mark.parametrize("text", ['{"offsetTable":{"T@G":{0:5}}}', '{"offsetTable":{"T@G":{"0":5}}}'])
def test_integer_keys_are_read_bare_and_quoted(text: str) -> None:
    assert decode(ConsumerOffsetSerializeWrapper, text).offset_table == {"T@G": {0: 5}}


@pytest.mark.parametrize(
    "key",
    ['{"brokerName":"b","queueId":1,"topic":"T"}', r'"{\"brokerName\":\"b\",\"queueId\":1,\"topic\":\"T\"}"'],
)
def test_queue_keys_are_read_bare_and_quoted(key: str) -> None:
    assert decode(ResetOffsetBody, f'{{"offsetTable":{{{key}:7}}}}').offset_table == {QUEUE: 7}


def test_tag_codes_may_be_quoted_as_the_go_client_sends_them() -> None:
    assert decode(SubscriptionData, '{"codeSet":["2598919","-5"]}').code_set == {2598919, -5}


def test_enums_may_be_numbers_as_the_cpp_client_sends_them() -> None:
    data = decode(ConsumerData, '{"consumeType":1,"messageModel":1,"consumeFromWhere":4}')
    assert (data.consume_type, data.message_model) == (ConsumeType.CONSUME_PASSIVELY, MessageModel.CLUSTERING)
    assert data.consume_from_where is ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET


@pytest.mark.parametrize("place", ["-1", "3", "true", "1.0", '"1"'])
def test_a_place_that_no_member_has_is_refused(place: str) -> None:
    with pytest.raises(BodyError, match="consumeType must be one of"):
        decode(ConsumerData, f'{{"consumeType":{place}}}')


def test_a_heartbeat_is_typed_all_through() -> None:
    text = '{"clientID":"c","consumerDataSet":[{"groupName":"G","consumeType":"CONSUME_PASSIVELY"}]}'
    heartbeat = decode(HeartbeatData, text)
    assert heartbeat.consumer_data_set == (ConsumerData(group_name="G", consume_type=ConsumeType.CONSUME_PASSIVELY),)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"consumerDataSet":[{"groupName":5}]}', r"consumerDataSet\[0\]\.groupName must be a text, not 5"),
        ('{"consumerDataSet":[{},{"unitMode":1}]}', r"consumerDataSet\[1\]\.unitMode must be true or false, not 1"),
        ('{"consumerDataSet":{}}', r"consumerDataSet must be an array"),
        ('{"consumerDataSet":[null]}', r"consumerDataSet\[0\] must be an object, not None"),
        ('{"consumerDataSet":[{"consumeType":"PUSH"}]}', r"consumeType must be one of CONSUME_ACTIVELY"),
        ('{"consumerDataSet":[{"subscriptionDataSet":[{"codeSet":[1.5]}]}]}', r"codeSet\[0\] must be an integer"),
        ('{"heartbeatFingerprint":2147483648}', "an integer of 32 bits"),
        ('{"heartbeatFingerprint":true}', "an integer of 32 bits"),
        ("[]", "the body must be an object"),
        ("7", "the body must be an object"),
    ],
)
def test_a_wrong_type_is_named_by_its_place(text: str, complaint: str) -> None:
    with pytest.raises(BodyError, match=complaint):
        decode(HeartbeatData, text)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"offsetTable":{"T@G":{"x":5}}}', r"offsetTable\['T@G'\]\['x'\] must be an integer"),
        ('{"offsetTable":{"T@G":{0:"x"}}}', r"offsetTable\['T@G'\]\[0\] must be an integer"),
    ],
)
def test_a_wrong_member_of_a_map_is_named(text: str, complaint: str) -> None:
    with pytest.raises(BodyError, match=complaint):
        decode(ConsumerOffsetSerializeWrapper, text)


@pytest.mark.parametrize("key", ['"x"', '"5"', "5", '"[1]"', '{"queueId":"q"}'])
def test_a_key_that_is_no_queue_is_refused(key: str) -> None:
    with pytest.raises(BodyError):
        decode(ResetOffsetBody, f'{{"offsetTable":{{{key}:7}}}}')


def test_a_complaint_is_short_whatever_came() -> None:
    with pytest.raises(BodyError) as refused:
        decode(TopicConfig, '{"perm":"' + "9" * 100_000 + '"}')
    assert len(str(refused.value)) < 200


def test_bytes_travel_in_base64() -> None:
    assert encode(BatchAck(bit_set=b"\x02")) == b'{"b":"Ag==","it":0,"pt":0,"q":0,"rq":0,"so":0}'
    with pytest.raises(BodyError, match="b must be base64"):
        decode(BatchAck, '{"b":"?"}')


def test_queue_keys_are_written_as_objects() -> None:
    assert encode(ConsumeStats(offset_table={})) == b'{"consumeTps":0.0,"offsetTable":{}}'
    expected = b'{"offsetTable":{{"brokerName":"b","queueId":1,"topic":"T"}:7}}'
    assert encode(ResetOffsetBody(offset_table={QUEUE: 7})) == expected


def test_a_route_has_a_bare_and_a_standard_form() -> None:
    route = TopicRouteData(broker_datas=(BrokerData(cluster="大", broker_name="b", broker_addrs={1: "y", 0: "x"}),))
    head, tail = (
        '{"brokerDatas":[{"brokerAddrs":',
        '"enableActingMaster":false}],"filterServerTable":{},"queueDatas":[]}',
    )
    assert encode(route).decode() == head + '{1:"y",0:"x"},"brokerName":"b","cluster":"大",' + tail
    standard = head + r'{"0":"x","1":"y"},"brokerName":"b","cluster":"\u5927",' + tail
    assert encode_standard(route).decode() == standard
    assert decode(TopicRouteData, encode(route)) == decode(TopicRouteData, encode_standard(route)) == route


def test_the_pretty_form_is_that_of_the_files() -> None:
    text = encode_pretty(SubscriptionGroupWrapper()).decode()
    assert text.startswith('{\n\t"dataVersion":{\n\t\t"counter":0,\n')
    assert text.endswith('\t"subscriptionGroupTable":{}\n}')


def test_a_large_array_is_read_item_by_item() -> None:
    data = b'{"clientId":"c","mqSet":[{"topic":"T","queueId":1},{"topic":5}],"onlyThisBroker":true}'
    body, (queues,) = codec.decode_apart(LockBatchRequestBody, data, "mq_set")
    assert body == LockBatchRequestBody(client_id="c", only_this_broker=True)
    assert len(queues) == 2
    items = iter(queues)
    assert next(items) == MessageQueue("T", "", 1)
    with pytest.raises(BodyError, match=r"LockBatchRequestBody: mqSet\[1\].topic must be a text, not 5"):
        next(items)


@pytest.mark.parametrize("data", [b"{}", b'{"mqSet":null}', b'{"mqSet":[]}'])
def test_an_array_that_is_not_there_is_empty(data: bytes) -> None:
    body, (queues,) = codec.decode_apart(LockBatchRequestBody, data, "mq_set")
    assert (body, list(queues)) == (LockBatchRequestBody(), [])


def test_items_that_were_written_one_by_one_stand_in_their_place() -> None:
    queues = [MessageQueue("T", "b", number) for number in range(3)]
    trees = [codec.to_tree(queue) for queue in queues]
    whole = LockBatchRequestBody(consumer_group="G", client_id="c", mq_set=frozenset(queues))
    assert in_steps(replace(whole, mq_set=frozenset()), "mq_set", trees) == (codec.encode(whole), 6)


def in_steps(body: object, member: str, part: object, depth: int = 1) -> tuple[bytes, int]:
    """What is encoded, and how often others had their turns."""
    steps, count = codec.encode_in_steps(body, member, part, depth), 0
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value, count
        count += 1


def test_maps_and_what_lies_deeper_are_written_in_steps() -> None:
    queues = {MessageQueue("T", 'b"}', number): OffsetWrapper(broker_offset=number) for number in range(3)}
    of_topic = ConsumeStats(offset_table=queues, consume_tps=1.5)
    table = codec.to_tree(of_topic)["offsetTable"]
    assert in_steps(ConsumeStats(consume_tps=1.5), "offset_table", table) == (codec.encode(of_topic), 4)
    whole = ConsumeStatsList(consume_stats_list=({"G": (of_topic, of_topic)}, {"H": ()}), total_diff=1 << 60)
    tree = codec.to_tree(whole)["consumeStatsList"]
    assert in_steps(ConsumeStatsList(total_diff=1 << 60), "consume_stats_list", tree, 3) == (codec.encode(whole), 4)


def test_a_member_that_stays_empty_is_written_as_it_is_by_itself() -> None:
    body = QueryConsumeQueueResponseBody(max_queue_index=1)
    assert in_steps(body, "queue_data", [])[0] == codec.encode(body)
    whole = replace(body, queue_data=(ConsumeQueueData(physic_offset=1),))
    assert in_steps(body, "queue_data", [codec.to_tree(each) for each in whole.queue_data])[0] == codec.encode(whole)


def test_a_set_is_written_in_order() -> None:
    queues = [MessageQueue(topic, broker, number) for topic in "ab" for broker in "xy" for number in (2, 10)]
    body = LockBatchResponseBody(lock_okmqset=frozenset(reversed(queues)))
    assert codec.to_tree(body)["lockOKMQSet"] == [codec.to_tree(queue) for queue in sorted(queues)]
