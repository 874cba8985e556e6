from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from sprocketmq.errors import BodyError
from sprocketmq.protocol import java_json
from sprocketmq.protocol.java_json.writer import ObjectKey, dumps, dumps_pretty, loads

CONFIG = Path(__file__).parents[3] / "data" / "golden" / "config"
KEY = ObjectKey((("brokerName", "b"), ("queueId", 1), ("topic", "T")))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a":1}', {"a": 1}),
        ('{0:"x",1:"y"}', {0: "x", 1: "y"}),
        ('{-1:"x"}', {-1: "x"}),
        ('{{"brokerName":"b","queueId":1,"topic":"T"}:{"n":2}}', {KEY: {"n": 2}}),
        (' { 0 : [ 1 , 2.5 , -3e2 ] } ', {0: [1, 2.5, -300.0]}),
        ('{0:[true,false,null,"\\u00e9\\n"]}', {0: [True, False, None, "é\n"]}),
        ('{0:{},1:[],"2":{3:{}}}', {0: {}, 1: [], "2": {3: {}}}),
        ('{0:"大"}', {0: "大"}),
        ("{0:9223372036854775807}", {0: 2**63 - 1}),
    ],
)  # fmt: skip
def test_the_dialect_is_read(text: str, value: Any) -> None:
    assert loads(text.encode()) == value


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "{", "[", "{0", "{0:", "{0:1", "{0:1,", "{0:1,}", "{,}", "{0 1}", "{0:1}}", "{0:1} x", "[1,]", "[1 2]",
        "{01:1}", "{1.5:1}", "{1e5:1}", "{x:1}", "{'x':1}", "{[]:1}", "{null:1}", "{0:x}", "{0:01}", "{0:+1}", "{0:.5}",
        '{0:"x}', '{0:"\\x"}', '{0:"\n"}', '{0:"\\ud800"}', "{0:NaN}", "{0:Infinity}", "{0:" + "9" * 5000 + "}",
        "{" + "9" * 5000 + ":1}", '{{"a":{}}:1}', '{{"a":[1]}:1}', "{0:1}\x00", "nul", "{0:tru}",
    ],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(BodyError):
        loads(text.encode())


@pytest.mark.parametrize("data", [b"\xff", b'{0:"\xff"}', b'{"a":"\xc3"}', b"\xef\xbb\xbf{0:1}"])
def test_bytes_that_are_not_utf8_text_are_refused(data: bytes) -> None:
    with pytest.raises(BodyError):
        loads(data)


def test_size_is_bounded() -> None:
    assert loads(b"[1]", limit=3) == [1]
    with pytest.raises(BodyError, match="more than 2"):
        loads(b"[1]", limit=2)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ("{0:", "}"), ("{{", "}:1}")])
def test_depth_is_bounded_on_both_paths(opening: str, closing: str) -> None:
    for depth in (java_json.MAX_DEPTH + 1, 5_000, 500_000):
        with pytest.raises(BodyError):
            loads((opening * depth + "1" + closing * depth).encode())
    if opening != "{{":
        loads((opening * java_json.MAX_DEPTH + "1" + closing * java_json.MAX_DEPTH).encode())


def test_a_refusal_says_where() -> None:
    with pytest.raises(BodyError, match=r"JSON at 7: a value expected, not 'x}'"):
        loads(b'{0:1,1:x}')  # fmt: skip
    with pytest.raises(BodyError, match="the end"):
        loads(b"{0:1")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"), (-0.0, "-0.0"), (1.0, "1.0"), (0.9, "0.9"), (0.001, "0.001"), (9999999.0, "9999999.0"),
        (1e-5, "1.0E-5"), (1.5e-7, "1.5E-7"), (0.00099, "9.9E-4"), (1e7, "1.0E7"), (12345678.9, "1.23456789E7"),
        (-1.25e300, "-1.25E300"), (5e-324, "5.0E-324"), (1e22, "1.0E22"), (math.nan, "null"), (math.inf, "null"),
    ],
)  # fmt: skip
def test_doubles_look_as_java_prints_them(value: float, text: str) -> None:
    assert dumps(value).decode() == text


def test_null_members_are_left_out() -> None:
    assert dumps({"a": None, "b": [None], "c": {}}) == b'{"b":[null],"c":{}}'


def test_keys_are_bare_or_quoted() -> None:
    value = {0: True, KEY: "x"}
    assert dumps(value) == b'{0:true,{"brokerName":"b","queueId":1,"topic":"T"}:"x"}'
    quoted = dumps(value, int_keys="quoted")
    assert quoted == rb'{"0":true,"{\"brokerName\":\"b\",\"queueId\":1,\"topic\":\"T\"}":"x"}'


def test_text_is_raw_or_escaped() -> None:
    assert dumps('é😀"\\\n\x01/').decode() == '"é😀\\"\\\\\\n\\u0001/"'
    assert dumps("é😀/", ascii=True) == rb'"\u00E9\uD83D\uDE00/"'


def test_bytes_are_base64() -> None:
    assert dumps({"b": b"\x02"}) == b'{"b":"Ag=="}'


def test_a_lone_surrogate_is_no_text() -> None:
    with pytest.raises(BodyError):
        dumps("\ud800")


def test_what_has_no_json_form_is_a_mistake_of_ours() -> None:
    with pytest.raises(TypeError):
        dumps(object())


@pytest.mark.parametrize("name", sorted(path.name for path in CONFIG.iterdir()))
def test_real_files_are_written_back_byte_for_byte(name: str) -> None:
    raw = (CONFIG / name).read_bytes()
    assert dumps_pretty(loads(raw)) == raw


def test_the_pretty_form_of_nested_objects_in_arrays() -> None:
    assert dumps_pretty({"a": [{"b": 1}], "c": {0: {"d": ()}}}) == (
        b'{\n\t"a":[\n\t\t{\n\t\t\t"b":1\n\t\t}\n\t],\n\t"c":{0:{\n\t\t\t"d":[]\n\t\t}\n\t}\n}'
    )
