"""A body that cannot be inflated: its message is told all the same, in every form."""

from __future__ import annotations

from base64 import b64encode

import pytest
from tests.unit.client.fakes import stored

from sprocketmq.cli.output.message_format import compile_format
from sprocketmq.cli.output.message_text import message_record, message_row
from sprocketmq.cli.output.message_writer import as_body, as_json_line, as_line
from sprocketmq.client.received import ReceivedMessage, split_records
from sprocketmq.errors import BodyError
from sprocketmq.protocol.record.sysflag import COMPRESSED

BODY = b"\xff no zlib"


@pytest.fixture
def poison() -> ReceivedMessage:
    (message,) = split_records(stored(BODY, 7, sys_flag=COMPRESSED), "broker-a")
    with pytest.raises(BodyError):
        _ = message.body
    return message


def test_rows_have_the_stored_bytes_and_the_reason(poison: ReceivedMessage) -> None:
    row = message_row(poison)
    assert (row["offset"], row["body"], row["body_base64"]) == (7, None, b64encode(BODY).decode())
    assert row["unreadable"]
    assert str(len(BODY)) in message_record(poison)["body"]
    assert b"unreadable" in as_json_line(poison)


def test_lines_and_formats_have_the_stored_bytes(poison: ReceivedMessage) -> None:
    assert b64encode(BODY) in as_line(poison)
    assert as_body(poison) == BODY + b"\n"
    assert compile_format("%S:%s")(poison) == b"%d:%b" % (len(BODY), BODY)
