"""What is no argument for a call of a producer is named at once, and nothing is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.client.fakes import FakeTransport, connect_producers, fields, route, routes, stores, until

from sprocketmq.client.errors import InvalidName
from sprocketmq.client.message import Message
from sprocketmq.client.producer.producer import Producer
from sprocketmq.client.producer.transactions import TransactionState
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.record.properties import decode_properties

SEND, BATCH = RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE
QUEUE = MessageQueue("T", "a", 0)
Call = Callable[[Producer, Any], Any]


@pytest.fixture
def transport(monkeypatch: pytest.MonkeyPatch) -> FakeTransport:
    network = FakeTransport({
        RequestCode.GET_ROUTEINFO_BY_TOPIC: routes({"T": route("a"), "U": route("a")}), SEND: stores(), BATCH: stores(),
    })  # fmt: skip
    return connect_producers(monkeypatch, network)


async def called(made: Any) -> None:
    """A call of a producer, which may be a coroutine."""
    if asyncio.iscoroutine(made):
        await made


TAKE_A_MESSAGE: dict[str, Call] = {
    "send": lambda producer, given: producer.send(given),
    "send to a queue": lambda producer, given: producer.send(given, queue=QUEUE),
    "send_oneway": lambda producer, given: producer.send_oneway(given),
    "send_batch": lambda producer, given: producer.send_batch([Message("T", b"x"), given]),
    "submit": lambda producer, given: producer.submit(given),
    "enqueue": lambda producer, given: producer.enqueue(given),
    "enqueue_all": lambda producer, given: producer.enqueue_all([given]),
    "send_half": lambda producer, given: producer.send_half(given),
    "transaction": lambda producer, given: producer.transaction(given),
    "send_in_transaction": lambda producer, given: producer.send_in_transaction(
        given, lambda *_: TransactionState.COMMIT
    ),
    "request": lambda producer, given: producer.request(given),
}


@pytest.mark.parametrize("call", TAKE_A_MESSAGE.values(), ids=TAKE_A_MESSAGE)
@pytest.mark.parametrize("given", [None, "T", b"x", {"topic": "T"}, Message])
async def test_only_messages_are_sent(transport: FakeTransport, call: Call, given: Any) -> None:
    async with Producer("g", "ns") as producer:
        with pytest.raises(TypeError, match="message must be a Message, not "):
            await called(call(producer, given))
    assert not transport.commands(SEND) + transport.commands(BATCH)


async def test_a_generator_is_sent_as_a_list_is(transport: FakeTransport) -> None:
    async with Producer("g", "ns") as producer:
        assert len(await producer.send_batch(Message("T", body) for body in (b"x", b"y"))) == 2
        with pytest.raises(TypeError, match="messages must be a list of Message, not Message"):
            await producer.send_batch(Message("T", b"x"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"timeout": "3"}, "timeout must be a number of seconds, not str"),
        ({"timeout": True}, "timeout must be a number of seconds, not bool"),
        ({"timeout": float("nan")}, "timeout must be a number of seconds, not nan"),
        ({"queue": 0}, "queue must be a MessageQueue, not int"),
        ({"queue": ("T", "a", 0)}, "queue must be a MessageQueue, not tuple"),
        ({"selector": lambda message, queues: 0}, "queue must be a MessageQueue, not int"),
        ({"queue": MessageQueue("U", "a", 0)}, "queue U@a:0 does not belong to topic T"),
    ],
)
async def test_where_and_how_long(transport: FakeTransport, given: dict[str, Any], said: str) -> None:
    async with Producer("g", "ns") as producer:
        with pytest.raises((TypeError, ValueError), match=said):
            await producer.send(Message("T", b"x"), **given)
    assert not transport.commands(SEND)


async def test_only_names_have_queues(transport: FakeTransport) -> None:
    async with Producer("g", "ns") as producer:
        assert len(await producer.queues("T")) == 4
        with pytest.raises(TypeError, match="topic is a str, not NoneType"):
            await producer.queues(None)  # type: ignore[arg-type]
        with pytest.raises(InvalidName, match="topic='a b'"):
            await producer.queues("a b")


@pytest.mark.parametrize("returned", [None, True, "COMMIT", 8])
async def test_work_that_says_nothing_leaves_the_transaction_open(transport: FakeTransport, returned: Any) -> None:
    """It may be done: the broker has to ask."""
    async with Producer("g", "ns") as producer:
        with pytest.raises(TypeError, match=f"must be a TransactionState, not {returned!r}"):
            await producer.send_in_transaction(Message("T", b"x"), lambda *_: returned)
    (end,) = transport.commands(RequestCode.END_TRANSACTION)
    assert (end.ext_fields or {})["commitOrRollback"] == "0"


async def test_work_is_a_function_before_the_message_is_stored(transport: FakeTransport) -> None:
    async with Producer("g", "ns") as producer:
        with pytest.raises(TypeError, match="work must be a function, not NoneType"):
            await producer.send_in_transaction(Message("T", b"x"), None)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="receipt must be the SendReceipt of send_half"):
            await producer.end_transaction(None, TransactionState.COMMIT)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="request must be a ReceivedMessage, not Message"):
            await producer.reply(Message("T", b"x"), b"answer")  # type: ignore[arg-type]
    assert not transport.commands(SEND)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"check": 1}, "check must be a function, not int"),
        ({"hooks": 1}, "hooks must be a list, not int"),
        ({"hooks": [1]}, "hooks: 1 has no method before_send"),
        ({"trace": 3}, "trace must be True, False or the name of a topic, not int"),
    ],
)
def test_arguments_of_a_producer_itself(given: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        Producer("g", "ns", **given)


async def test_a_request_may_wait_for_ever(transport: FakeTransport) -> None:
    async with Producer("g", "ns") as producer:
        asked = asyncio.ensure_future(producer.request(Message("T", b"x"), timeout=float("inf")))
        await until(lambda: bool(asked.done() or transport.commands(SEND)))
        (command,) = transport.commands(SEND)
        assert decode_properties(fields(command)["i"])["TTL"] == str(2**63 - 1), "what Java reads as a long"
        assert not asked.done()
        asked.cancel()
