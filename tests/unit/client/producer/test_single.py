"""The straight way of a single send; that it ends as the careful one does is shown by test_producer.py."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.client.fakes import FakeTransport, instance, route, routes, stores

from sprocketmq.client.errors import InvalidMessage, TimedOut, Unreachable
from sprocketmq.client.message import Message
from sprocketmq.client.producer.encoder import Encoder
from sprocketmq.client.producer.sender import Sender
from sprocketmq.client.producer.single import SingleSends
from sprocketmq.client.settings import ProducerSettings
from sprocketmq.codes import RequestCode
from sprocketmq.errors import ConnectionLost, RequestTimeout
from sprocketmq.protocol.record.properties import decode_properties

SEND = RequestCode.SEND_MESSAGE_V2


async def singles(
    transport: FakeTransport, namespace: str = "", *, is_straight: bool = True, topics: tuple[str, ...] = ("T",),
    **settings: object,
) -> SingleSends:  # fmt: skip
    transport.is_straight = is_straight
    full = [f"{namespace}%{topic}" if namespace else topic for topic in topics]
    transport.answers |= {
        RequestCode.GET_ROUTEINFO_BY_TOPIC: routes({topic: route("a", "b", queues=2) for topic in full}),
        SEND: stores(),
    }
    made = ProducerSettings(**settings)  # type: ignore[arg-type]
    sender = Sender(instance(transport), "g", made)
    for topic in full:
        await sender.instance.routes.get(topic)
    return SingleSends(sender, Encoder(namespace, made), made)


@pytest.mark.parametrize("avoid_slow_brokers", [False, True])
async def test_messages_go_to_every_queue_in_turn(avoid_slow_brokers: bool) -> None:
    transport = FakeTransport()
    sends = await singles(transport, avoid_slow_brokers=avoid_slow_brokers)
    flights = [sends.launch(Message("T", b"x"), None) for _ in range(8)]
    receipts = [sends.landed(flight, await flight.answer) for flight in flights if flight is not None]
    assert sorted(receipt.queue for receipt in receipts) == sorted([receipt.queue for receipt in receipts[:4]] * 2)
    assert len({receipt.message_id for receipt in receipts}) == 8


async def test_each_topic_has_its_own_turn() -> None:
    """Messages for two topics in turns: the queues of both get their share."""
    transport = FakeTransport()
    sends = await singles(transport, topics=("T", "U"))
    flights = [sends.launch(Message(topic, b"x"), None) for _ in range(4) for topic in ("T", "U")]
    queues = [sends.landed(flight, await flight.answer).queue for flight in flights if flight is not None]
    assert len(set(queues)) == len(queues) == 8


async def test_what_travels() -> None:
    transport = FakeTransport()
    sends = await singles(transport, "ns")
    flight = sends.launch(Message("T", bytearray(b"body"), tag="A", flag=7), None)  # type: ignore[arg-type]
    assert flight is not None
    receipt = sends.landed(flight, await flight.answer)
    (command,) = transport.commands(SEND)
    ext = command.ext_fields or {}
    properties = decode_properties(ext["i"])
    assert (ext["a"], ext["b"], ext["h"], ext["m"], command.body) == ("g", "ns%T", "7", "false", b"body")
    assert (properties["TAGS"], properties["INSTANCE_ID"]) == ("A", "ns")
    assert properties["UNIQ_KEY"] == receipt.message_id == flight.outgoing().unique_key
    assert flight.outgoing().properties == ext["i"]


async def test_what_has_to_go_by_the_careful_way() -> None:
    sends = await singles(FakeTransport())
    assert sends.launch(Message("T", b"x", sharding_key="k"), None) is None
    assert sends.launch(Message("T", b"x" * 4096), None) is None
    assert sends.launch(Message("unknown", b"x"), None) is None
    assert (await singles(FakeTransport(), is_straight=False)).launch(Message("T", b"x"), None) is None
    with pytest.raises(InvalidMessage):
        sends.launch(Message("T", b""), None)


async def test_no_answer() -> None:
    transport = FakeTransport()
    sends = await singles(transport)
    transport.hold = asyncio.Event()
    flight = sends.launch(Message("T", b"x"), 0.01)
    assert flight is not None
    with pytest.raises(RequestTimeout):
        await flight.answer
    assert isinstance(sends.lost(flight, RequestTimeout("")), TimedOut)
    assert isinstance(sends.lost(flight, ConnectionLost("reset")), Unreachable)
