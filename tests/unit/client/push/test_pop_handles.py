from __future__ import annotations

import pytest
from tests.unit.client.fakes import stored

from sprocketmq.client.push.pop_handles import PopHandle, handles_of
from sprocketmq.client.received import split_records
from sprocketmq.errors import CommandError
from sprocketmq.protocol.headers.pop import PopMessageResponseHeader

TEXT = "100 1700000000000 60000 3 0 broker-a 2 105"


def test_round_trip() -> None:
    handle = PopHandle.parse(TEXT)
    assert str(handle) == TEXT
    assert (handle.queue_id, handle.queue_offset, handle.revive_queue) == (2, 105, 3)


def test_too_short() -> None:
    with pytest.raises(CommandError):
        PopHandle.parse("1 2 3")


@pytest.mark.parametrize(("flag", "topic"), [("0", "T"), ("1", "%RETRY%g_T"), ("2", "%RETRY%g+T")])
def test_where_the_message_lies(flag: str, topic: str) -> None:
    assert PopHandle(0, 0, 0, 0, flag, "b", 0, 0).topic("g", "T") == topic


def test_handles_from_the_answer() -> None:
    header = PopMessageResponseHeader(
        pop_time=1000, invisible_time=60000, revive_qid=5, rest_num=0, start_offset_info="0 0 10;0 1 20",
        msg_offset_info="0 0 10,12;0 1 20",
    )  # fmt: skip
    data = stored(b"a", 10) + stored(b"b", 12) + stored(b"c", 20, queue_id=1)
    found = {message.body: str(handle) for message, handle in handles_of(header, split_records(data, "b"), "b")}
    assert found == {
        b"a": "10 1000 60000 5 0 b 0 10",
        b"b": "10 1000 60000 5 0 b 0 12",
        b"c": "20 1000 60000 5 0 b 1 20",
    }


def test_a_handle_on_the_message_wins() -> None:
    header = PopMessageResponseHeader(pop_time=1, invisible_time=2, revive_qid=3, rest_num=0)
    (message,) = split_records(stored(b"a", 0, properties=f"POP_CK\x01{TEXT}\x02".encode()), "b")
    ((_, handle),) = handles_of(header, [message], "b")
    assert str(handle) == TEXT
