from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import pytest

from sprocketmq.config import (
    changed,
    from_properties,
    read_entries,
    setting,
    settings_of,
    to_properties,
    unknown_keys,
)
from sprocketmq.errors import ConfigError
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.remoting.config import LogFormat


class Colour(Enum):
    RED = 1
    BLUE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    listen_port: int = setting("listenPort", 9876, "Port.", low=0, high=65535)
    ratio: float = setting("ratio", 0.5, "Ratio.", low=0, high=1)
    verbose: bool = setting("verbose", False, "Talk.", runtime=True)
    name: str = setting("name", "x", "Name.")
    home: Path = setting("home", Path("/tmp"), "Where.")
    colour: Colour = setting("colour", Colour.RED, "Which.", runtime=True)


def test_every_type_is_read() -> None:
    entries = {
        "listenPort": "0", "ratio": "0.25", "verbose": "TRUE", "name": "a b", "home": "/data/x", "colour": "BLUE",
        "other": "left alone",
    }  # fmt: skip
    assert from_properties(Example, entries) == Example(
        listen_port=0, ratio=0.25, verbose=True, name="a b", home=Path("/data/x"), colour=Colour.BLUE
    )


def test_a_choice_is_read_in_small_and_capital_letters() -> None:
    for text in ("json", "JSON"):
        assert from_properties(NameserverConfig, {"logFormat": text}).log_format is LogFormat.JSON


def test_a_home_directory_is_found() -> None:
    assert from_properties(Example, {"home": "~/store"}).home == Path.home() / "store"


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("listenPort", "many", "an integer at least 0 and at most 65535"),
        ("listenPort", "65536", "at most 65535"),
        ("listenPort", "", "an integer"),
        ("ratio", "-0.1", "a number at least 0"),
        ("verbose", "yes", "true or false"),
        ("colour", "GREEN", "one of RED, BLUE"),
    ],
)
def test_a_malformed_value_names_key_and_value(key: str, text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_properties(Example, {key: text})
    assert f"{key}={text!r}" in str(caught.value)
    assert expected in str(caught.value)


def test_unknown_keys_are_found_over_several_tables() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Other:
        size: int = setting("size", 1, "Size.")

    assert unknown_keys(
        {"size": "1", "verbose": "true", "sendMessageThreadPoolNums": "4", "zz": ""}, Example, Other
    ) == [
        "sendMessageThreadPoolNums",
        "zz",
    ]


def test_text_form() -> None:
    assert to_properties(Example()) == {
        "listenPort": "9876", "ratio": "0.5", "verbose": "false", "name": "x", "home": "/tmp", "colour": "RED",
    }  # fmt: skip
    assert from_properties(Example, to_properties(Example(verbose=True))) == Example(verbose=True)


def test_only_some_settings_change_at_run_time() -> None:
    assert changed(Example(), {"verbose": "true", "colour": "BLUE"}) == Example(verbose=True, colour=Colour.BLUE)
    with pytest.raises(ConfigError, match="home cannot be changed"):
        changed(Example(), {"verbose": "true", "home": "/etc"})
    with pytest.raises(ConfigError, match="nosuch: no such key"):
        changed(Example(), {"nosuch": "1"})
    with pytest.raises(ConfigError, match="verbose='maybe'"):
        changed(Example(), {"verbose": "maybe"})


def test_options_win_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "broker.conf"
    file.write_text("\ufefflistenPort = 1\nname=file\n", encoding="utf-8")
    assert read_entries(file, ["listenPort=2", "home = /x=y"]) == {"listenPort": "2", "name": "file", "home": "/x=y"}
    assert read_entries(None) == {}


@pytest.mark.parametrize("option", ["listenPort", "=1", ""])
def test_an_option_without_a_key_or_value(option: str) -> None:
    with pytest.raises(ConfigError, match="KEY=VALUE"):
        read_entries(None, [option])


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        read_entries(tmp_path / "absent.conf")
    (tmp_path / "binary.conf").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_entries(tmp_path / "binary.conf")


def test_the_table_tells_what_an_operator_asks() -> None:
    row = settings_of(Example)["listenPort"]
    assert (row.key, row.attribute, row.kind, row.default, row.doc) == ("listenPort", "listen_port", int, 9876, "Port.")
    assert not row.runtime
