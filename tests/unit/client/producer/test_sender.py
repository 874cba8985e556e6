"""One attempt, and several; what travels is told here field by field, for any message and any kind of send."""

from __future__ import annotations

import asyncio
import functools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.loop_clock import LoopClock
from tests.signatures import is_signed
from tests.unit.client.fakes import FakeTransport, instance, route, routes, stores, until

from sprocketmq.client.cluster.route import AUTO_CREATE_TOPIC, Route
from sprocketmq.client.errors import InvalidMessage, Refused, TimedOut, Unreachable
from sprocketmq.client.message import Message, SendReceipt
from sprocketmq.client.options import Credentials
from sprocketmq.client.producer.encoder import Encoder
from sprocketmq.client.producer.queue_selectors import by_sharding_key
from sprocketmq.client.producer.sender import PendingSend, Sender
from sprocketmq.client.settings import ProducerSettings
from sprocketmq.codes import FLAG_ONEWAY, LanguageCode, RequestCode, ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.record.compression import decompress
from sprocketmq.protocol.record.properties import decode_properties
from sprocketmq.protocol.record.sysflag import TRANSACTION_PREPARED, CompressionType
from sprocketmq.protocol.requests.send_frame import Payload

SEND = RequestCode.SEND_MESSAGE_V2
BATCH = RequestCode.SEND_BATCH_MESSAGE
ROUTE = Route.of("T", route("a", "b", queues=2))

BOTH = pytest.mark.parametrize("is_connected", [True, False])


def network(*topics: str, is_connected: bool = True, credentials: Credentials | None = None) -> FakeTransport:
    table = {topic: route("a", "b", queues=2) for topic in topics or ("T",)}
    transport = FakeTransport(
        {RequestCode.GET_ROUTEINFO_BY_TOPIC: routes(table), SEND: stores(), BATCH: stores()},
    )
    transport.is_connected = is_connected
    transport.sign = None if credentials is None else credentials.sign
    return transport


def sender(transport: FakeTransport, **settings: Any) -> Sender:
    return Sender(instance(transport), "g", ProducerSettings(**settings))


def single(message: Message, namespace: str = "", sys_flag: int = 0) -> Payload:
    return Encoder(namespace, ProducerSettings()).single(message, "", sys_flag)


# -- what travels -----------------------------------------------------------------------------------------------------

_WORDS = st.text(
    st.characters(blacklist_characters="\x00\x01\x02", blacklist_categories=["Cs"]), min_size=1, max_size=9
)
_MESSAGES = st.builds(
    Message, st.just("T"), st.binary(min_size=1, max_size=9) | st.just(b"compressible" * 999),
    tag=st.none() | _WORDS, keys=st.lists(_WORDS, max_size=2), sharding_key=st.none() | _WORDS,
    properties=st.dictionaries(_WORDS.map("own-{}".format), _WORDS, max_size=2), flag=st.integers(-(2**31), 2**31 - 1),
    delay_level=st.integers(0, 18), wait_stored=st.booleans(),
)  # fmt: skip


def expected_fields(payload: Payload, queue: MessageQueue) -> dict[str, str]:
    """SEND_MESSAGE_V2's header, spelled once more: as the clients of RocketMQ fill it in."""
    return {
        "a": "g", "b": "T", "c": "TBW102", "d": "4", "e": str(queue.queue_id), "f": str(payload.sys_flag),
        "g": str(payload.born_ms), "h": str(payload.flag), "i": payload.properties.decode(), "j": "0", "k": "false",
        "m": "true" if payload.code == BATCH else "false", "n": queue.broker_name,
    }  # fmt: skip


def check_frame(command: Command, payload: Payload, receipt: SendReceipt | None, secret: str | None = None) -> None:
    fields = dict(command.ext_fields or {})
    if secret is not None:
        assert is_signed(fields, command.body, secret)
        added = {name: fields.pop(name) for name in ("AccessKey", "SecurityToken", "Signature")}
        assert (added["AccessKey"], added["SecurityToken"]) == ("key", "token")
    queue = MessageQueue("T", fields["n"], int(fields["e"]))
    assert fields == expected_fields(payload, queue)
    assert (command.code, command.body, command.language) == (payload.code, payload.body, LanguageCode.PYTHON)
    assert (command.flag, command.remark) == (FLAG_ONEWAY if receipt is None else 0, None)
    if receipt is not None:
        assert (receipt.queue, receipt.message_id) == (queue, payload.unique_key)


@given(_MESSAGES, st.sampled_from([0, TRANSACTION_PREPARED]), st.booleans(), st.booleans(), st.booleans())
def test_a_message_travels_as_it_is(
    message: Message, sys_flag: int, is_connected: bool, is_signed_: bool, is_chosen: bool
) -> None:
    async def run() -> None:
        transport = network(
            is_connected=is_connected, credentials=Credentials("key", "secret", "token") if is_signed_ else None
        )
        made, secret = sender(transport), "secret" if is_signed_ else None
        payload = single(message, sys_flag=sys_flag)
        receipt = await made.send(payload, made.deadline(60), MessageQueue("T", "b", 1) if is_chosen else None)
        made.oneway(payload, *await made.reach("T", made.deadline(60), MessageQueue("T", "b", 1)))
        answered, oneway = transport.commands(SEND)
        check_frame(answered, payload, receipt, secret)
        check_frame(oneway, payload, None, secret)
        assert not is_chosen or receipt.queue == MessageQueue("T", "b", 1)

    asyncio.run(run())
    check_payload(single(message, sys_flag=sys_flag), message, sys_flag)


def check_payload(payload: Payload, message: Message, sys_flag: int) -> None:
    """What the message says is in it; a large body is made smaller."""
    properties = decode_properties(payload.properties)
    assert {name: properties.pop(name) for name in message.properties} == message.properties
    assert properties.pop("UNIQ_KEY") == payload.unique_key
    assert properties.pop("WAIT") == ("true" if message.wait_stored else "false")
    assert properties.pop("TAGS", None) == message.tag
    assert properties.pop("KEYS", "") == " ".join(message.keys)
    assert properties.pop("__SHARDINGKEY", None) == message.sharding_key
    assert properties.pop("DELAY", "0") == str(message.delay_level)
    assert not properties
    assert (payload.topic, payload.flag) == ("T", message.flag)
    if len(message.body) < 4096:
        assert (payload.body, payload.sys_flag) == (message.body, sys_flag)
    else:
        assert decompress(bytes(payload.body), CompressionType.ZLIB) == message.body
        assert payload.sys_flag == sys_flag | 0x301


@BOTH
@pytest.mark.parametrize("secret", [None, "secret"])
async def test_a_batch_travels_as_it_is(is_connected: bool, secret: str | None) -> None:
    transport = network(is_connected=is_connected, credentials=(secret and Credentials("key", secret, "token")) or None)
    made, encoder = sender(transport), Encoder("", ProducerSettings())
    content = encoder.accumulator()
    content.add(Message("T", b"x" * 3000))
    payload = encoder.batch("T", content.close())
    receipt = await made.send(payload, made.deadline(60))
    (command,) = transport.commands(BATCH)
    assert payload.properties == b"WAIT\x01true\x02"
    check_frame(command, payload, receipt, secret)


async def test_a_namespace_travels_with_the_message() -> None:
    payload = single(Message("T", bytearray(b"body")), "ns")  # type: ignore[arg-type]
    assert (payload.topic, payload.body) == ("ns%T", b"body")
    assert decode_properties(payload.properties)["INSTANCE_ID"] == "ns"


async def test_how_often_a_message_was_consumed() -> None:
    transport = network()
    made = sender(transport)
    payload = Payload("T", b"x", b"", reconsume_times=3, max_reconsume_times=16)
    await made.send(payload, made.deadline(60))
    fields = transport.commands(SEND)[0].ext_fields or {}
    assert (fields["j"], fields["l"], "i" in fields) == ("3", "16", False)


def test_what_is_wrong_is_told_before_anything_travels() -> None:
    with pytest.raises(InvalidMessage, match="a body has 1 to"):
        single(Message("T", b""))
    with pytest.raises(InvalidMessage, match="at most 32767 bytes"):
        single(Message("T", b"x", properties={"a": "ä" * 16384}))


# -- where it goes ----------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("avoid_slow_brokers", [False, True])
async def test_messages_go_to_every_queue_in_turn(is_connected: bool, avoid_slow_brokers: bool) -> None:
    made = sender(network(is_connected=is_connected), avoid_slow_brokers=avoid_slow_brokers)
    receipts = [await made.send(single(Message("T", b"x")), made.deadline(60)) for _ in range(8)]
    assert sorted(receipt.queue for receipt in receipts) == sorted([receipt.queue for receipt in receipts[:4]] * 2)
    assert len({receipt.message_id for receipt in receipts}) == 8


async def test_each_topic_has_its_own_turn() -> None:
    """Messages for two topics in turns: the queues of both get their share."""
    made = sender(network("T", "U"))
    sends = [made.send(single(Message(topic, b"x")), made.deadline(60)) for _ in range(4) for topic in ("T", "U")]
    assert len({receipt.queue for receipt in await asyncio.gather(*sends)}) == 8


async def test_a_key_chooses_the_queue() -> None:
    made, message = sender(network()), Message("T", b"x", sharding_key="k")
    select = functools.partial(by_sharding_key, message)
    queues = {(await made.send(single(message), made.deadline(60), None, select)).queue for _ in range(4)}
    assert queues == {by_sharding_key(message, ROUTE.write_queues)}


# -- attempts ---------------------------------------------------------------------------------------------------------


def launched(made: Sender, seconds: float = 60) -> PendingSend | None:
    return made.launch(single(Message("T", b"x")), made.choose(ROUTE), made.deadline(seconds))


async def test_a_launch_waits_for_nothing() -> None:
    transport = network()
    made = sender(transport)
    pending = launched(made)
    assert pending is not None
    assert len(transport.tasks) == 1, "its frame is written"
    receipt = await made.send(single(Message("T", b"x")), pending.deadline, pending=pending)
    assert len(transport.tasks) == 1, "nothing more is written"
    assert receipt.queue == pending.route.queue
    assert launched(made, 0) is None
    assert launched(sender(network(is_connected=False))) is None


@BOTH
async def test_no_answer_in_time(is_connected: bool, loop_clock: LoopClock) -> None:
    transport = network(is_connected=is_connected)
    transport.hold = asyncio.Event()
    made = sender(transport)
    sending = asyncio.ensure_future(made.send(single(Message("T", b"x")), made.deadline(3)))
    await until(lambda: bool(transport.commands(SEND)))
    loop_clock.advance(4)
    with pytest.raises(TimedOut):
        await sending
    with pytest.raises(TimedOut, match="the timeout of the send has passed"):
        await made.send(single(Message("T", b"x")), made.deadline(0))


@BOTH
async def test_a_lost_connection_is_remembered(is_connected: bool) -> None:
    def reset(address: str, _command: Command) -> Command:
        raise Unreachable(address, "reset")

    transport = network(is_connected=is_connected)
    transport.answers[SEND] = reset
    made = sender(transport, avoid_slow_brokers=True, retries=0)
    with pytest.raises(Unreachable) as caught:
        await made.send(single(Message("T", b"x")), made.deadline(60), MessageQueue("T", "a", 0))
    assert caught.value.address == "a:10911"
    assert not made.faults.is_available("a")
    assert made.choose(ROUTE).broker_name == "b"


async def test_a_broker_that_cannot_be_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(address: str, _timeout: float) -> None:
        raise Unreachable(address, "refused")

    transport = network(is_connected=False)
    monkeypatch.setattr(transport, "connect", refuse)
    made = sender(transport, avoid_slow_brokers=True)
    with pytest.raises(Unreachable, match="refused"):
        await made.send(single(Message("T", b"x")), made.deadline(60))
    assert not made.faults.is_available("a")
    assert not made.faults.is_available("b")


async def test_one_that_is_not_safe_enough_is_tried_again() -> None:
    transport, fine = network(), stores()

    def slow_disk(address: str, command: Command) -> Command:
        answer = fine(address, command)
        answer.code = ResponseCode.FLUSH_DISK_TIMEOUT
        return answer

    transport.answers[SEND] = slow_disk
    made = sender(transport, retry_when_not_ok=True)
    assert not (await made.send(single(Message("T", b"x")), made.deadline(60))).ok
    first, second, third = transport.addresses(SEND)
    assert first != second != third


@BOTH
async def test_a_queue_may_be_insisted_on(is_connected: bool) -> None:
    transport, fine = network(is_connected=is_connected), stores()

    def busy_at_first(address: str, command: Command) -> Command:
        return fine(address, command) if len(transport.commands(SEND)) > 3 else command.reply(ResponseCode.SYSTEM_BUSY)

    transport.answers[SEND] = busy_at_first
    made = sender(transport)
    queue = MessageQueue("T", "b", 1)
    assert (await made.insist(single(Message("T", b"x")), made.deadline(60), queue)).queue == queue
    transport.answers[SEND] = lambda _address, command: command.reply(ResponseCode.MESSAGE_ILLEGAL)
    with pytest.raises(Refused):
        await made.insist(single(Message("T", b"x")), made.deadline(60), queue)


async def test_no_more_than_so_many_are_on_their_way() -> None:
    transport = network()
    transport.hold = asyncio.Event()
    made = sender(transport, in_flight=2)
    sends = [asyncio.ensure_future(made.send(single(Message("T", b"x")), made.deadline(60))) for _ in range(3)]
    for _ in range(20):
        await asyncio.sleep(0)
    assert len(transport.tasks) == 2
    transport.hold.set()
    assert all(receipt.ok for receipt in await asyncio.gather(*sends))


async def test_while_no_broker_has_the_topic_one_may_be_about_to_become_its_master() -> None:
    """The nameservers dropped the old master, the new one has not registered, and slaves were not known."""
    transport = network()
    table = {"T": route("a", queues=2)}
    transport.answers[RequestCode.GET_ROUTEINFO_BY_TOPIC] = routes(table)
    made = sender(transport, retries=0)
    await made.route("T", made.deadline(60))
    store, tries = stores(), []

    def die(address: str, command: Command) -> Command:
        tries.append(address)
        table.pop("T", None)
        if len(tries) == 3:
            table["T"] = route("b", queues=2)
        if address == "b:10911":
            return store(address, command)
        raise Unreachable(address, "refused")

    transport.answers[SEND] = die
    receipt = await made.send(single(Message("T", b"body")), made.deadline(60))
    assert receipt.queue.broker_name == "b"
    assert tries[:3] == ["a:10911"] * 3


async def test_a_broker_without_slaves_is_not_waited_for() -> None:
    transport = network()

    def die(address: str, _command: Command) -> Command:
        raise Unreachable(address, "refused")

    transport.answers[SEND] = die
    made = sender(transport, retries=1)
    with pytest.raises(Unreachable):
        await made.send(single(Message("T", b"body")), made.deadline(3600))


async def test_a_refusal_for_a_topic_that_nobody_ever_had_is_told_at_once() -> None:
    transport = network(AUTO_CREATE_TOPIC)

    def refuse(_address: str, command: Command) -> Command:
        return command.reply(ResponseCode.NO_PERMISSION, "not you")

    transport.answers[SEND] = refuse
    made = sender(transport, retries=0)
    with pytest.raises(Refused, match="not you"):
        await made.send(single(Message("T", b"body")), made.deadline(3600))
