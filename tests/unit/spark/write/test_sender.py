"""Which requests the rows of a task become, by a cluster that only takes notes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from sprocketmq.client.blocking import ordered_requests
from sprocketmq.client.cluster.route import Route
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.record.batch import decode_batch
from sprocketmq.protocol.record.properties import decode_properties
from sprocketmq.protocol.record.sysflag import TRANSACTION_PREPARED
from sprocketmq.protocol.requests.send_frame import Sign
from sprocketmq.spark.options.sink import SinkOptions
from sprocketmq.spark.write.columns import columns_of
from sprocketmq.spark.write.rows import BadRow, EntryFill
from sprocketmq.spark.write.sender import RowSender


class Notes:
    """A cluster of one broker with two queues per topic, which answers each request at once."""

    def __init__(self, *codes: ResponseCode) -> None:
        self.commands: list[Command] = []
        self.sign: Sign | None = None
        self._answers: list[Command] = []
        self._codes = list(codes)

    def route_to_send(self, topic: str, _queues: int) -> Route:
        counts = {"b": 0 if topic == "shut" else 2}
        return Route(topic, {"b": {0: "here:1"}}, {}, counts, counts)

    def connection(self, _address: str) -> Notes:
        return self

    def next_number(self) -> int:
        return len(self.commands) + 1

    def put(self, frame: bytes) -> None:
        (command,) = FrameDecoder().feed(frame)
        self.commands.append(command)
        code, place = self._codes.pop(0) if self._codes else ResponseCode.SUCCESS, str(6 + len(self.commands))
        self._answers.append(Command(code, opaque=command.opaque, ext_fields={"queueOffset": place}))

    def receive(self) -> Command:
        return self._answers.pop(0)

    def bodies(self) -> list[tuple[str, list[bytes]]]:
        """Topic and bodies of each request."""
        found = []
        for command in self.commands:
            is_batch = command.code == RequestCode.SEND_BATCH_MESSAGE
            bodies = [body for _, body, _ in decode_batch(command.body)] if is_batch else [command.body]
            found.append(((command.ext_fields or {})["b"], bodies))
        return found


def send(columns: dict[str, list[Any]], **options: str) -> Notes:
    notes = Notes()
    sender, rows, count = sender_of(notes, columns, options)
    sender.send(rows, 0, count)
    sender.flush()
    return notes


def sender_of(notes: Any, columns: dict[str, list[Any]], options: dict[str, str]) -> tuple[RowSender, EntryFill, int]:
    given = SinkOptions.of({"nameserver": "ns:9876", **options}, streaming=False)
    rows = EntryFill("0" * 16, "", given.batch_bytes, given.batch_rows)
    batch = pa.RecordBatch.from_pydict(columns)
    rows.open(columns_of(batch), 0)
    return RowSender(notes, given), rows, batch.num_rows


def test_rows_travel_in_batches_to_one_queue_after_the_other() -> None:
    notes = send({"body": list("abcde")}, topic="T", batchRows="2")
    assert notes.bodies() == [("T", [b"a", b"b"]), ("T", [b"c", b"d"]), ("T", [b"e"])]
    fields = [command.ext_fields or {} for command in notes.commands]
    assert [one["e"] for one in fields] in (["0", "1", "0"], ["1", "0", "1"])
    assert all(one["m"] == "true" and "i" not in one for one in fields), "a batch has no properties of its own"


def test_the_column_names_the_topic_inside_the_namespace() -> None:
    notes = send({"body": list("abcd"), "topic": ["A", "A", "B", "A"]}, namespace="ns")
    assert notes.bodies() == [("ns%A", [b"a", b"b", b"d"]), ("ns%B", [b"c"])]
    assert send({"body": ["a"], "topic": [None]}, topic="T").bodies() == [("T", [b"a"])]


def test_a_delayed_row_travels_alone_after_those_before_it() -> None:
    notes = send({"body": list("abc"), "delayLevel": [None, 3, 0], "queueId": [1, 1, 1], "flag": [0, 9, 0]}, topic="T")
    assert notes.bodies() == [("T", [b"a"]), ("T", [b"b"]), ("T", [b"c"])]
    fields = notes.commands[1].ext_fields or {}
    assert notes.commands[1].code == RequestCode.SEND_MESSAGE_V2
    assert (fields["e"], fields["h"], fields["f"], decode_properties(fields["i"].encode())["DELAY"]) == (
        "1",
        "9",
        "0",
        "3",
    )


def test_a_half_message_is_told_its_queue() -> None:
    notes, told = Notes(), []
    sender, rows, _ = sender_of(notes, {"body": ["a"], "queueId": [1]}, {"topic": "T"})
    sender.send_half(rows, 0, lambda queue, reply: told.append((queue, (reply.ext_fields or {})["queueOffset"])))
    sender.flush()
    assert told == [(MessageQueue("T", "b", 1), "7")]
    assert (notes.commands[0].ext_fields or {})["f"] == str(TRANSACTION_PREPARED)


def test_of_a_half_message_in_doubt_the_next_attempt_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordered_requests, "_PAUSE_S", 0)
    notes, told = Notes(ResponseCode.FLUSH_SLAVE_TIMEOUT), []
    sender, rows, _ = sender_of(notes, {"body": ["a"]}, {"topic": "T"})
    sender.send_half(rows, 0, lambda _queue, reply: told.append((reply.ext_fields or {})["queueOffset"]))
    sender.flush()
    assert notes.bodies() == [("T", [b"a"])] * 2
    assert told == ["8"]


def test_a_half_message_has_no_delay() -> None:
    sender, rows, _ = sender_of(Notes(), {"body": ["a"], "delayLevel": [1]}, {"topic": "T"})
    with pytest.raises(BadRow, match="delayLevel cannot be used with delivery exactly-once"):
        sender.send_half(rows, 0, lambda _queue, _reply: None)


def test_brokers_that_elect_their_master_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    notes, looks = Notes(), iter([{1: "slave:1"}, {1: "slave:1"}, {0: "here:1"}])
    electing = lambda topic, *_, **__: Route(topic, {"b": next(looks, {0: "here:1"})}, {}, {"b": 2}, {"b": 2})  # noqa: E731
    monkeypatch.setattr(notes, "route_to_send", electing)
    monkeypatch.setattr(notes, "route", electing, raising=False)
    sender, rows, count = sender_of(notes, {"body": ["a"]}, {"topic": "T"})
    sender.send(rows, 0, count)
    sender.flush()
    assert len(notes.commands) == 1
    assert next(looks, None) is None


def test_a_topic_that_nobody_takes() -> None:
    with pytest.raises(BadRow, match="no broker takes messages for shut"):
        send({"body": ["a"]}, topic="shut")
