from __future__ import annotations

import asyncio

import pytest
from tests.unit.client.fakes import FakeTransport, instance, route, routes, stored, stores, until

from sprocketmq.client.errors import Unreachable
from sprocketmq.client.message import Message, SendReceipt, SendStatus
from sprocketmq.client.producer.trace_sender import trace_sender
from sprocketmq.client.received import split_records
from sprocketmq.client.telemetry.hooks import ConsumeContext, SendContext
from sprocketmq.client.telemetry.trace import BATCH, MAX_WAITING, Tracer
from sprocketmq.client.telemetry.trace_records import parse_records
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.record.properties import decode_properties, split_keys

JAVA = (
    "Pub\x011700000000000\x01DefaultRegion\x01pg\x01T\x01AB12\x01tag\x01k1\x01127.0.0.1:10911\x015\x0112\x010"
    "\x017F000001\x01true\x02"
    "SubBefore\x011700000000100\x01DefaultRegion\x01g\x01req\x01AB12\x010\x01k1\x02"
    "SubAfter\x01req\x01AB12\x017\x01true\x01k1\x010\x011700000000107\x01g\x02"
    "Unknown\x01a\x01b\x01c\x01d\x01e\x02"
)


def test_records_as_java_writes_them() -> None:
    pub, before, after = parse_records(JAVA)
    assert (pub.kind, pub.group, pub.topic, pub.cost_ms, pub.success) == ("Pub", "pg", "T", 12, True)
    assert (before.request_id, before.message_ids) == ("req", ("AB12",))
    assert (after.timestamp_ms, after.group, after.success) == (1700000000107, "g", True)


async def test_what_the_tracer_writes_can_be_read() -> None:
    transport = FakeTransport({
        RequestCode.GET_ROUTEINFO_BY_TOPIC: routes({"RMQ_SYS_TRACE_TOPIC": route("a", queues=1)}),
        RequestCode.SEND_MESSAGE_V2: stores(),
    })  # fmt: skip
    tracer = Tracer(trace_sender(instance(transport), "g"))
    receipt = SendReceipt(SendStatus.OK, "AB12", "7F00000100002A9F0000000000001234", MessageQueue("T", "a", 0), 0)
    tracer.after_send(SendContext("pg", "T", [Message("T", b"x", keys="k\t1")], receipt=receipt, started=1, ended=2))
    messages = split_records(stored(b"x", 0, properties=b"UNIQ_KEY\x01AB12\x02"), "a")
    consumed = ConsumeContext("g", "T", messages, result="success", started=3, ended=3.5)
    tracer.before_consume(consumed)
    tracer.after_consume(consumed)
    await tracer.flush()
    (command,) = transport.commands(RequestCode.SEND_MESSAGE_V2)
    records = parse_records(command.body.decode())
    assert [record.kind for record in records] == ["Pub", "SubBefore", "SubAfter"]
    assert all(record.message_ids == ("AB12",) for record in records)
    assert [record.cost_ms for record in records] == [1000, None, 500]
    assert b"127.0.0.1:10911" in command.body
    keys = split_keys(decode_properties((command.ext_fields or {})["i"])["KEYS"])
    assert sorted(keys) == ["AB12", "k\t1"]


async def test_a_oneway_send_leaves_no_record_but_a_failed_one_does() -> None:
    transport = FakeTransport({
        RequestCode.GET_ROUTEINFO_BY_TOPIC: routes({"RMQ_SYS_TRACE_TOPIC": route("a", queues=1)}),
        RequestCode.SEND_MESSAGE_V2: stores(),
    })  # fmt: skip
    tracer = Tracer(trace_sender(instance(transport), "g"))
    tracer.after_send(SendContext("pg", "T", [Message("T", b"x")], started=1, ended=2))
    tracer.after_send(SendContext("pg", "T", [Message("T", b"x")], error=ValueError("no"), started=1, ended=2))
    await tracer.flush()
    (command,) = transport.commands(RequestCode.SEND_MESSAGE_V2)
    (record,) = parse_records(command.body.decode())
    assert record.success is False


def trace_sends(tracer: Tracer, count: int) -> None:
    for _ in range(count):
        tracer.after_send(SendContext("pg", "T", [Message("T", b"x")], error=ValueError("no"), started=1, ended=2))


async def test_messages_of_the_trace_do_not_wait_for_one_another() -> None:
    """One after the other they were slower than what they tell of. Whoever stops waits for those under way."""
    together, sent = asyncio.Barrier(4), list[Message]()

    async def send(message: Message) -> None:
        await together.wait()
        sent.append(message)

    tracer = Tracer(send)
    trace_sends(tracer, 3 * BATCH)
    begun = asyncio.ensure_future(tracer.flush())
    await until(lambda: together.n_waiting == 3)
    stopping = asyncio.ensure_future(tracer.flush())
    await asyncio.sleep(0)
    assert not stopping.done()
    await together.wait()
    await asyncio.wait_for(asyncio.gather(begun, stopping), 60)
    assert len(sent) == 3


async def test_records_that_are_dropped_or_lost_are_told(caplog: pytest.LogCaptureFixture) -> None:
    async def send(_message: Message) -> None:
        raise Unreachable("a:1", "refused")

    tracer = Tracer(send)
    trace_sends(tracer, MAX_WAITING)
    assert not caplog.records
    trace_sends(tracer, 2)
    await tracer.flush()
    dropped, lost = (record.getMessage() for record in caplog.records)
    assert dropped == "trace records are dropped: they come faster than they are sent"
    assert lost.startswith(f"trace records were not sent records={BATCH} error=")
