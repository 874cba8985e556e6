from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from sprocketmq.cli.main import main
from sprocketmq.cli.output.message_format import FIELDS, compile_format


class Received:
    """What a format asks of a message."""

    topic, broker_name, queue_id, queue_offset, body = "orders", "broker-a", 1, 42, b"\xff\x00"
    keys, tag, reconsume_times, properties = ("a", "b"), None, 0, {"colour": "red"}


def test_fields_and_escapes() -> None:
    form = compile_format(r"%t %b:%q+%o %k [%g] %S %s %{colour}%{none} %% \x41\t\\%h\n")
    expected = b"orders broker-a:1+42 a b [] 2 \xff\x00 red % A\t\\colour=red\n"
    assert form(Received()) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["%z", "%", r"\q", "%{"])
def test_what_means_nothing(text: str) -> None:
    with pytest.raises(click.BadParameter):
        compile_format(text)


def test_the_help_lists_every_field() -> None:
    shown = CliRunner().invoke(main, ["consume", "--help"]).stdout
    listed = shown[shown.index("Fields of --format:") :]
    assert [letter for letter in FIELDS if f"%{letter} " not in listed] == []
    assert "\n    %s body" in listed
