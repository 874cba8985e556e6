from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.unit.broker.conftest import StartBroker
from tests.unit.broker.support import KEY, START_MS, Caller, FakeClock, fields, records
from tests.unit.protocol.batches import encode_batch

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.cluster.registration import Registration
from sprocketmq.broker.send.backpressure import LATE_TICKS
from sprocketmq.broker.send.message import BrokerMessage
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.record.properties import decode_properties, encode_properties
from sprocketmq.protocol.requests.send import NAMES
from sprocketmq.remoting import Connection, Handler, Reply


@pytest.mark.parametrize("serialize_type", [0, 1])
async def test_a_sent_message_is_answered_and_stored_with_what_the_broker_adds(
    broker: Broker, caller: Caller, serialize_type: int
) -> None:
    for number in range(2):  # the first asks for admission, the second has it
        answer = await caller.send(body=b"hello", queue_id=3, serialize_type=serialize_type, TAGS="A", WAIT="true")
        assert (answer.code, answer.remark) == (0, None)
        found = fields(answer)
        assert (found["queueId"], found["queueOffset"], found["transactionId"]) == ("3", str(number), KEY)
        assert (found["MSG_REGION"], found["TRACE_ON"]) == ("DefaultRegion", "true")
        record = broker.store.reader.record_at(int(found["msgId"][16:], 16))
        assert record is not None
        assert (record.topic, record.queue_id, record.body, record.queue_offset) == ("T", 3, b"hello", number)
        assert found["msgId"][:16] == broker.store.appender.store_host.hex().upper()
        assert decode_properties(record.properties) == {
            "UNIQ_KEY": KEY, "TAGS": "A", "WAIT": "true", "MSG_REGION": "DefaultRegion", "TRACE_ON": "true",
            "CLUSTER": "DefaultCluster",
        }  # fmt: skip


async def test_the_long_names_of_send_message_mean_the_same(broker: Broker, caller: Caller) -> None:
    values = ["PG", "T", "TBW102", 4, 1, 0, START_MS, 7, "K\x01v\x02", 2]
    named = dict(zip(NAMES, values, strict=False))
    answer = await caller.call(RequestCode.SEND_MESSAGE, named, b"body")
    record = broker.store.reader.record_at(int(fields(answer)["msgId"][16:], 16))
    assert record is not None
    assert (record.queue_id, record.flag, record.reconsume_times) == (1, 7, 2)
    assert len(decode_properties(record.properties)["UNIQ_KEY"]) == 32  # the producer gave none


async def test_a_new_topic_gets_the_queues_that_were_asked_for(broker: Broker, caller: Caller) -> None:
    await caller.send("fresh")
    config = broker.topics.get("fresh")
    assert config is not None
    assert (config.read_queue_nums, config.write_queue_nums, config.perm) == (4, 4, 6)


async def test_the_send_that_makes_a_topic_is_answered_when_the_nameservers_know_it(
    start_broker: StartBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = asyncio.Event()

    async def announce(_registration: Registration) -> None:
        await known.wait()

    monkeypatch.setattr(Registration, "announce", announce)
    broker = await start_broker()
    caller = Caller(broker)
    created = asyncio.Event()
    broker.topics.on_change.append(lambda _config: created.set())
    first = asyncio.ensure_future(caller.send("fresh"))
    await created.wait()
    assert (await caller.send("fresh")).code == 0  # the topic is here already: nothing more to wait for
    assert not first.done()
    known.set()
    assert (await first).code == 0
    await caller.client.close(grace=0.1)


async def test_a_topic_that_cannot_be_announced_keeps_no_producer_waiting(
    start_broker: StartBroker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def announce(_registration: Registration) -> None:
        raise ValueError("nobody expects this")

    monkeypatch.setattr(Registration, "announce", announce)
    caller = Caller(await start_broker())
    assert (await caller.send("fresh")).code == 0
    assert "new topic not announced" in caplog.text
    await caller.client.close(grace=0.1)


@pytest.mark.parametrize(
    ("topic", "queue_id", "code"),
    [
        ("bad topic", 0, ResponseCode.INVALID_PARAMETER),
        ("../../etc", 0, ResponseCode.INVALID_PARAMETER),
        ("x" * 128, 0, ResponseCode.INVALID_PARAMETER),
        ("SCHEDULE_TOPIC_XXXX", 0, ResponseCode.NO_PERMISSION),
        ("RMQ_SYS_TRANS_HALF_TOPIC", 0, ResponseCode.NO_PERMISSION),
        ("T", 4, ResponseCode.INVALID_PARAMETER),
    ],
)
async def test_what_may_not_be_sent_is_refused_with_its_code(
    caller: Caller, topic: str, queue_id: int, code: int
) -> None:
    answer = await caller.send(topic, queue_id=queue_id)
    assert answer.code == code
    assert answer.remark
    assert fields(answer)["MSG_REGION"] == "DefaultRegion"


async def test_an_unknown_topic_is_refused_where_topics_are_not_created(start_broker: StartBroker) -> None:
    broker = await start_broker(autoCreateTopicEnable="false")
    caller = Caller(broker)
    assert (await caller.send()).code == ResponseCode.TOPIC_NOT_EXIST
    assert (await caller.send("%RETRY%G")).code == ResponseCode.SUCCESS  # the broker's own kind of topic
    await caller.client.close(grace=0.1)


async def test_a_model_without_the_inherit_bit_makes_no_topic(caller: Caller) -> None:
    await caller.send("T")
    assert (await caller.send("U", model="T")).code == ResponseCode.TOPIC_NOT_EXIST


async def test_below_zero_the_broker_chooses_the_queue(caller: Caller) -> None:
    answers = [await caller.send(queue_id=-1) for _ in range(20)]
    chosen = {int(fields(answer)["queueId"]) for answer in answers}
    assert chosen <= {0, 1, 2, 3}
    assert len(chosen) > 1


async def test_bodies_and_properties_have_their_limits(caller: Caller) -> None:
    assert (await caller.send(body=b"x" * 4194304, topic="big")).code == ResponseCode.MESSAGE_ILLEGAL  # a 1 MiB log
    assert (await caller.send(body=b"")).code == ResponseCode.MESSAGE_ILLEGAL
    assert (await caller.send(long="x" * 32768)).code == ResponseCode.MESSAGE_ILLEGAL
    assert (await caller.send(body=b"fits")).code == ResponseCode.SUCCESS


@pytest.mark.parametrize("serialize_type", [0, 1])
async def test_a_batch_becomes_one_message_each(broker: Broker, caller: Caller, serialize_type: int) -> None:
    own = [encode_properties({"UNIQ_KEY": f"{n:032X}", "TAGS": "A"}).encode() for n in range(3)]
    body = encode_batch([(n, b"body %d" % n, own[n]) for n in range(3)])
    for way in range(2):  # the first asks for admission, the second has it
        answer = await caller.send(
            body=body,
            queue_id=2,
            code=RequestCode.SEND_BATCH_MESSAGE,
            serialize_type=serialize_type,
            WAIT="true",
            K="v",
        )
        found = fields(answer)
        assert (found["queueId"], found["queueOffset"], found["transactionId"]) == ("2", str(3 * way), KEY)
        assert "batchUniqId" not in found  # a Java client would report it as the id of all messages
        stored = [broker.store.reader.record_at(int(text[16:], 16)) for text in found["msgId"].split(",")]
        for n, record in enumerate(stored):
            assert record is not None
            assert (record.flag, record.body, record.queue_offset) == (n, b"body %d" % n, 3 * way + n)
            assert decode_properties(record.properties) == {
                "UNIQ_KEY": f"{n:032X}",  # and not the batch's own key for all of them
                "TAGS": "A", "WAIT": "true", "K": "v", "MSG_REGION": "DefaultRegion", "TRACE_ON": "true",
                "CLUSTER": "DefaultCluster",
            }  # fmt: skip
    assert broker.stats.puts["T"].count == 6


async def test_what_is_no_property_of_a_batch_is_left_out(broker: Broker, caller: Caller) -> None:
    text = f"UNIQ_KEY\x01{KEY}\x02bare\x02\x01nameless\x02empty\x01\x02K\x01v\x01w"
    body = encode_batch([(0, b"body", b"A\x01b")])
    for _way in range(2):
        answer = await caller(
            RequestCode.SEND_BATCH_MESSAGE, body, a="PG", b="T", c="TBW102", d=4, e=0, f=0, g=START_MS, h=0, i=text,
        )  # fmt: skip
        record = broker.store.reader.record_at(int(fields(answer)["msgId"][16:], 16))
        assert record is not None
        added = b"MSG_REGION\x01DefaultRegion\x02TRACE_ON\x01true\x02CLUSTER\x01DefaultCluster\x02"
        assert record.properties == b"A\x01b\x02K\x01v\x01w\x02" + added


async def test_batches_that_cannot_be(caller: Caller) -> None:
    batch = encode_batch([(0, b"x", b"")])
    send = RequestCode.SEND_BATCH_MESSAGE
    for _way in range(2):
        assert (await caller.send(body=batch, code=send, DELAY="3")).code == ResponseCode.MESSAGE_ILLEGAL
        assert (await caller.send("%RETRY%G", batch, code=send)).code == ResponseCode.MESSAGE_ILLEGAL
        assert (await caller.send(body=batch, code=send, sys_flag=4)).code == ResponseCode.MESSAGE_ILLEGAL
        assert (await caller.send(body=batch[:-1], code=send)).code == ResponseCode.MESSAGE_ILLEGAL
        assert (await caller.send(body=batch, code=send)).code == ResponseCode.SUCCESS


async def test_interceptors_see_special_messages_and_may_change_or_refuse_them(broker: Broker, caller: Caller) -> None:
    def divert(message: BrokerMessage) -> None:
        if message.properties.get("DELAY") == "9":
            raise RequestRefused(ResponseCode.NO_PERMISSION, "not today")
        if "DELAY" in message.properties:
            message.topic, message.queue_id = "elsewhere", 2

    broker.sends.special.interceptors.append(divert)
    await caller.send()
    answer = await caller.send(DELAY="1", queue_id=1)
    assert (fields(answer)["queueId"], fields(answer)["queueOffset"]) == ("1", "0")
    assert broker.store.max_offset("elsewhere", 2) == 1
    assert (await caller.send(DELAY="9")).remark == "not today"
    assert broker.store.max_offset("T", 0) == 1


async def test_what_is_never_stored_is_left_out(broker: Broker, caller: Caller) -> None:
    text = encode_properties({"POP_CK": "1 2 3", "__RMQ.TRANSIENT.X": "y", "OTHER": "z", "UNIQ_KEY": KEY})
    sent = dict(zip("abcdefghi", ["PG", "T", "TBW102", 4, 0, 0, START_MS, 0, text], strict=True))
    answer = await caller.call(RequestCode.SEND_MESSAGE_V2, sent, b"body")
    record = broker.store.reader.record_at(int(fields(answer)["msgId"][16:], 16))
    assert record is not None
    assert set(decode_properties(record.properties)) == {"UNIQ_KEY", "OTHER", "MSG_REGION", "TRACE_ON", "CLUSTER"}


async def test_a_topic_that_is_changed_is_looked_at_anew(broker: Broker, caller: Caller) -> None:
    from dataclasses import replace

    await caller.send()
    config = broker.topics.get("T")
    assert config is not None
    await broker.topics.put(replace(config, perm=4))
    assert (await caller.send()).code == ResponseCode.NO_PERMISSION
    await broker.topics.delete("T")
    assert (await caller.send(model="none")).code == ResponseCode.TOPIC_NOT_EXIST


async def test_a_busy_broker_says_so_and_recovers(start_broker: StartBroker) -> None:
    broker = await start_broker(brokerFastFailureEnable="true")
    caller = Caller(broker)
    await caller.send()
    broker.pressure.stop()  # the test turns the ticks
    for _ in range(LATE_TICKS):
        broker.pressure.tick(250)
    answer = await caller.send()
    assert answer.code == ResponseCode.SYSTEM_BUSY
    assert str(answer.remark).startswith("[TIMEOUT_CLEAN_QUEUE]")
    broker.pressure.tick(1)
    assert (await caller.send()).code == ResponseCode.SUCCESS


async def test_sends_wait_for_the_time_the_operator_set(start_broker: StartBroker, clock: FakeClock) -> None:
    broker = await start_broker(startAcceptSendRequestTimeStamp=str(START_MS + 5))
    caller = Caller(broker)
    assert (await caller.send()).code == ResponseCode.SYSTEM_ERROR
    clock.now += 5
    assert (await caller.send()).code == ResponseCode.SUCCESS
    await caller.client.close(grace=0.1)


async def test_under_sync_flush_an_answer_means_the_message_is_on_disk(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    broker = await start_broker(flushDiskType="SYNC_FLUSH")
    caller = Caller(broker)
    for number in range(2):  # the second is admitted already
        answer = await caller.send(body=b"safe")
        assert answer.code == ResponseCode.SUCCESS
        assert fields(answer)["queueOffset"] == str(number)
        assert broker.store.flushed_offset == broker.store.log.max_offset
    batch = encode_batch([(0, b"one", b""), (0, b"two", b"")])
    answer = await caller.send(body=batch, code=RequestCode.SEND_BATCH_MESSAGE)
    assert (answer.code, fields(answer)["queueOffset"]) == (ResponseCode.SUCCESS, "2")
    assert broker.store.flushed_offset == broker.store.log.max_offset
    assert b'"T"' in (tmp_path / "store/config/topics.json").read_bytes()
    assert [record.body for record in records(await caller.pull())] == [b"safe", b"safe", b"one", b"two"]
    await caller.client.close(grace=0.1)


async def test_a_disk_that_is_late_is_told_with_the_id_of_the_message(start_broker: StartBroker) -> None:
    broker = await start_broker(flushDiskType="SYNC_FLUSH", syncFlushTimeout="1")
    caller = Caller(broker)
    await caller.send()
    broker.store.on_progress = None  # nobody hears of the disk any more
    answer = await caller.send()
    assert answer.code == ResponseCode.FLUSH_DISK_TIMEOUT
    assert (fields(answer)["queueOffset"], fields(answer)["transactionId"]) == ("1", KEY)
    batch = encode_batch([(0, b"one", b""), (0, b"two", b"")])
    late = await caller.send(body=batch, code=RequestCode.SEND_BATCH_MESSAGE)
    assert late.code == ResponseCode.FLUSH_DISK_TIMEOUT
    assert len(fields(late)["msgId"].split(",")) == 2
    assert (await caller.send(WAIT="false")).code == ResponseCode.SUCCESS
    await caller.client.close(grace=0.1)


async def test_a_malformed_request_is_answered_and_the_connection_lives(caller: Caller) -> None:
    answer = await caller(RequestCode.SEND_MESSAGE_V2, b"x", a="PG")
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert (await caller.send()).code == ResponseCode.SUCCESS


async def test_counts_are_kept_per_topic(broker: Broker, caller: Caller) -> None:
    for _ in range(3):
        await caller.send()
    counter = broker.stats.puts["T"]
    assert counter.count == 3
    assert counter.size == broker.store.log.max_offset


async def test_an_answer_that_failed_is_given_at_the_next_look(
    start_broker: StartBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = await start_broker(flushDiskType="SYNC_FLUSH")
    caller, reply, failures = Caller(broker), Connection.reply, iter((MemoryError(), MemoryError()))

    def fail_first(*arguments: Any, **more: Any) -> None:
        for failure in failures:
            raise failure
        reply(*arguments, **more)

    def fail_as_well(*_arguments: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(Connection, "reply", fail_first)
    monkeypatch.setattr(Connection, "abort", fail_as_well)
    assert (await caller.send("T")).code == ResponseCode.SUCCESS  # of a new topic
    assert (await caller.send("T")).code == ResponseCode.SUCCESS
    await caller.client.close(0.1)


async def test_only_so_many_sends_wait_for_the_disk(start_broker: StartBroker) -> None:
    broker = await start_broker(flushDiskType="SYNC_FLUSH", sendThreadPoolQueueCapacity="1")
    caller = Caller(broker)
    assert (await caller.send()).code == ResponseCode.SUCCESS  # the topic is admitted
    broker.store.on_progress = None  # nobody hears of the disk any more
    waiting = asyncio.ensure_future(caller.send())
    while not len(broker.acks):  # noqa: ASYNC110 - the broker has no event for it
        await asyncio.sleep(0)
    answer = await caller.send()
    assert answer.code == ResponseCode.SYSTEM_BUSY
    assert str(answer.remark).startswith("[OVERLOAD]")
    broker.store.flush()
    broker.acks.progress()
    assert (await waiting).code == ResponseCode.SUCCESS
    broker.acks.start()
    assert (await caller.send()).code == ResponseCode.SUCCESS
    await caller.client.close(grace=0.1)


@pytest.mark.parametrize("batch", [False, True], ids=["one", "batch"])
async def test_a_refused_send_is_counted_once(broker: Broker, caller: Caller, batch: bool) -> None:
    await caller.send()  # from now on the topic is admitted
    body = bytes(broker.store.appender.max_message_size + 1)
    code = RequestCode.SEND_BATCH_MESSAGE if batch else RequestCode.SEND_MESSAGE_V2
    answer = await caller.send(body=body, code=code)
    assert answer.code == ResponseCode.MESSAGE_ILLEGAL
    assert fields(answer) == {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}
    assert broker.store.appender.failed_times == 1


async def test_a_guard_stands_before_sends_too(broker: Broker, caller: Caller) -> None:
    def guard(handler: Handler) -> Handler:
        def guarded(connection: Connection, request: Command) -> Reply:
            if request.body == b"forbidden":
                raise RequestRefused(ResponseCode.NO_PERMISSION, "not this one")
            return handler(connection, request)

        return guarded

    broker.table.guard([RequestCode.SEND_MESSAGE_V2], guard)
    assert (await caller.send()).code == ResponseCode.SUCCESS
    assert (await caller.send(body=b"forbidden")).remark == "not this one"
    assert broker.store.max_offset("T", 0) == 1


async def test_a_later_wait_counts(start_broker: StartBroker) -> None:
    broker = await start_broker(flushDiskType="SYNC_FLUSH", syncFlushTimeout="1")
    caller = Caller(broker)
    await caller.send()
    broker.store.on_progress = None  # nobody hears of the disk any more
    for wait, code in (("", ResponseCode.FLUSH_DISK_TIMEOUT), ("WAIT\x01false\x02", ResponseCode.SUCCESS)):
        text = f"UNIQ_KEY\x01{KEY}\x02WAIT\x01false\x02WAIT\x01true\x02NO_WAIT\x01false\x02{wait}"
        sent = dict(zip("abcdefghi", ["PG", "T", "TBW102", 4, 0, 0, START_MS, 0, text], strict=True))
        assert (await caller.call(RequestCode.SEND_MESSAGE_V2, sent, b"body")).code == code
    await caller.client.close(grace=0.1)
