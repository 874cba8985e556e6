"""What is stored of a send, and what it is answered, against a specification in a few lines of plain Python: any
properties, flags and bodies, single or batch, in both serializations.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.hypothesis_examples import examples
from tests.unit.broker.support import START_MS, FakeClock, make_broker
from tests.unit.protocol.batches import encode_batch

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame
from sprocketmq.protocol.record.properties import decode_properties
from sprocketmq.protocol.record.record import Record, decode_records
from sprocketmq.protocol.requests.send import LETTERS

ADDED = b"MSG_REGION\x01DefaultRegion\x02TRACE_ON\x01true\x02CLUSTER\x01DefaultCluster\x02"
SPECIAL = ("DELAY", "TIMER_D", "TRAN_MSG", "POP_CK", "INNER_MULTI_DISPATCH", "__RMQ.TRANSIENT.X")

TEXTS = st.text(st.characters(exclude_characters="\x01\x02", exclude_categories=["Cs"]), min_size=1, max_size=12)
KEYS = st.sampled_from(["7F0000010000000000000000000000AB", 'quo"te', "back\\slash", "ключ😀", "new\nline", "\x7f"])
VALUES = st.one_of(TEXTS, KEYS, st.sampled_from(["false", "true", "1", "a\x01b"]))
NAMES = st.one_of(TEXTS, st.sampled_from(["UNIQ_KEY", "UNIQ_KEY", "WAIT", "TAGS", "UNIQ_KEYS", "DELAYED", "CLUSTER"]))
ODD = st.sampled_from(
    ["", "bare", "\x01nameless", "empty\x01", "UNIQ_KEY\x01", "UNIQ_KEY", "WAIT\x01", "D", "DELAY\x01"]
)
PLAIN_PIECES = st.one_of(st.builds("{}\x01{}".format, NAMES, VALUES), ODD)
PIECES = st.one_of(PLAIN_PIECES, PLAIN_PIECES, st.builds("{}\x01{}".format, st.sampled_from(SPECIAL), VALUES))
PROPERTIES = st.builds(
    lambda pieces, end: "\x02".join(pieces) + end, st.lists(PIECES, max_size=6), st.sampled_from(["", "\x02"])
)
ENTRIES = st.tuples(st.integers(0, 9), st.binary(max_size=20), PROPERTIES.map(str.encode))


class Sender:
    """In the place of a connection."""

    class peer:
        packed = bytes([127, 0, 0, 1, 0, 0, 42, 159])


class Sends:
    """A broker that knows the topic T, and the road of its sends."""

    def __init__(self, broker: Broker, runner: asyncio.Runner) -> None:
        self._broker = broker
        self._runner = runner
        self._appender = broker.store.appender

    async def begin(self) -> None:
        self._broker.topics.create_by_send("T", "TBW102", 4, 0)
        self._broker.store.put("other", 0, 0, 0, b"now there is a file", b"", START_MS, Sender.peer.packed, 0, 0)

    def __call__(self, request: Command) -> tuple[Command, list[Record]]:
        """The answer, and the records that were appended."""
        before = self._appender.position
        (request,) = FrameDecoder().feed(encode_frame(request))
        (answer,) = FrameDecoder().feed(self._runner.run(self._send(request)))
        view = self._broker.store.log.view_of(self._appender.base)
        assert view is not None
        return answer, list(decode_records(bytes(view[before : self._appender.position])))

    async def _send(self, request: Command) -> bytes:
        answer = self._broker.sends.send(Sender(), request)
        return encode_frame(answer) if isinstance(answer, Command) else bytes(answer)

    def message_id(self, commit_offset: int) -> str:
        return (self._appender.store_host + commit_offset.to_bytes(8, "big")).hex().upper()


@pytest.fixture(scope="module")
def sends(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sends]:
    entries = {"mappedFileSizeCommitLog": str(1 << 25), "timerWheelEnable": "false"}
    broker = make_broker(tmp_path_factory.mktemp("sends"), FakeClock(), None, **entries)
    with asyncio.Runner() as runner:
        runner.run(broker.start())
        sends = Sends(broker, runner)
        runner.run(sends.begin())
        yield sends
        runner.run(broker.stop())


def asked(
    code: int, serialize_type: int, queue_id: int, sys_flag: int, properties: str, body: bytes, tries: int
) -> Command:
    values = ["PG", "T", "TBW102", 4, queue_id, sys_flag, START_MS, 5, properties, tries]
    fields = dict(zip(LETTERS, map(str, values), strict=False))
    return Command(code, opaque=-7, ext_fields=fields, body=body, serialize_type=serialize_type)


def is_special(properties: str) -> bool:
    return any(name in SPECIAL or name.startswith("TIMER_D") for name in decode_properties(properties))


def closed(properties: bytes) -> bytes:
    return properties + b"\x02" if properties and not properties.endswith(b"\x02") else properties


def shared(properties: str) -> bytes:
    """What each message of a batch gets of the batch's properties."""
    pieces = [piece.partition("\x01") for piece in properties.split("\x02")]
    kept = [piece for piece in pieces if piece[0] and piece[2] and piece[0] != "UNIQ_KEY"]
    return "".join("".join(piece) + "\x02" for piece in kept).encode()


CASES = settings(
    max_examples=examples(300), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@CASES
@given(
    st.integers(0, 1),
    st.integers(-1, 3),
    st.sampled_from([0, 1, 2, 0x10]),
    PROPERTIES,
    st.binary(min_size=1),
    st.integers(0, 20),
)
def test_a_message_is_stored_as_it_came_with_what_the_broker_adds(
    sends: Sends, serialize_type: int, queue_id: int, sys_flag: int, properties: str, body: bytes, tries: int
) -> None:
    answer, records = sends(
        asked(RequestCode.SEND_MESSAGE_V2, serialize_type, queue_id, sys_flag, properties, body, tries)
    )
    fields, key = answer.ext_fields or {}, decode_properties(properties).get("UNIQ_KEY")
    if answer.code != ResponseCode.SUCCESS:
        assert is_special(properties), "only what an interceptor refuses is refused"
        return
    (record,) = records
    assert key is None or fields["transactionId"] == key
    assert (record.body, record.flag, record.reconsume_times) == (body, 5, tries)
    assert fields["msgId"] == sends.message_id(record.commit_offset)
    assert (answer.opaque, fields["queueOffset"]) == (-7, str(record.queue_offset))
    if is_special(properties):
        assert not {"POP_CK", "__RMQ.TRANSIENT.X"} & set(decode_properties(record.properties))
        return
    made = b"" if key is not None else b"UNIQ_KEY\x01" + fields["transactionId"].encode() + b"\x02"
    assert record.properties == closed(properties.encode()) + made + ADDED
    assert (record.topic, fields["queueId"]) == ("T", str(record.queue_id))
    assert queue_id in (-1, record.queue_id)
    assert list(fields) == ["msgId", "queueId", "queueOffset", "MSG_REGION", "TRACE_ON", "transactionId"]


@CASES
@given(st.integers(0, 1), st.integers(-1, 3), PROPERTIES, st.lists(ENTRIES, max_size=5))
def test_each_message_of_a_batch_has_its_own_and_the_batch_s_properties(
    sends: Sends, serialize_type: int, queue_id: int, properties: str, entries: list[tuple[int, bytes, bytes]]
) -> None:
    answer, records = sends(
        asked(RequestCode.SEND_BATCH_MESSAGE, serialize_type, queue_id, 0, properties, encode_batch(entries), 0)
    )
    batch, fields = decode_properties(properties), answer.ext_fields or {}
    if "DELAY" in batch or not entries:
        assert (answer.code, records) == (ResponseCode.MESSAGE_ILLEGAL, [])
        return
    stored = [(record.flag, record.body, record.properties) for record in records]
    assert stored == [(flag, body, closed(own) + shared(properties) + ADDED) for flag, body, own in entries]
    assert fields["msgId"].split(",") == [sends.message_id(record.commit_offset) for record in records]
    assert (fields["queueId"], fields["queueOffset"]) == (str(records[0].queue_id), str(records[0].queue_offset))
    assert fields.get("transactionId") == batch.get("UNIQ_KEY")


@CASES
@given(st.integers(0, 1), st.sampled_from([4, 8, 12]), PROPERTIES, st.binary())
def test_a_batch_that_is_none_leaves_nothing(
    sends: Sends, serialize_type: int, sys_flag: int, properties: str, body: bytes
) -> None:
    for flags, octets in ((sys_flag, encode_batch([(0, body, b"")])), (0, body)):
        answer, records = sends(asked(RequestCode.SEND_BATCH_MESSAGE, serialize_type, 0, flags, properties, octets, 0))
        assert (answer.code, records) == (ResponseCode.MESSAGE_ILLEGAL, [])
