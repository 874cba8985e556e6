"""JSON headers: what the scanner takes, the general parser reads the same way; what clients send, the scanner takes."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from sprocketmq.codes import LanguageCode
from sprocketmq.errors import CommandError, FrameError
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.json_header import encode_json_header, parse_header
from sprocketmq.protocol.frame.json_header_scan import scan_header
from sprocketmq.protocol.requests.send import decode_send

INT32 = st.integers(-(2**31), 2**31 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
WIRE_TEXT = TEXT | st.text('KEYS\x01\x02\t\n\r\x08\x0c"\\/é本', max_size=30)
NUMBERS = INT32 | st.sampled_from([-0.0, 1.5, 1e3, 2**31, -(2**31) - 1, 2**63, 10**30])
SCALARS = st.none() | st.booleans() | NUMBERS | WIRE_TEXT
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2))
NAMES = st.sampled_from(
    ["code", "flag", "opaque", "version", "language", "remark", "serializeTypeCurrentRPC", "extFields"]
)
LETTERS = st.sampled_from("abcdefghijklmno")
SPACES = st.text(" \t\n\r", max_size=2)
SENT = st.fixed_dictionaries(
    {letter: st.sampled_from(["orders", "PID"]) for letter in "abc"}
    | {letter: st.integers(0, 9).map(str) | WIRE_TEXT for letter in "defgh"},
    optional=dict.fromkeys("ijklmn", WIRE_TEXT),
)
REQUEST_FIELDS = (
    "producer_group", "topic", "default_topic", "default_topic_queue_nums", "queue_id", "sys_flag", "born_timestamp",
    "flag", "properties", "reconsume_times", "unit_mode", "max_reconsume_times", "batch", "broker_name",
)  # fmt: skip

Pairs = list[tuple[str, str]]


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    """A JSON value in some spelling."""
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


@st.composite
def objects(draw: st.DrawFn, pairs: Pairs) -> str:
    """An object of these members, keys twice included, with white space around its marks."""
    gap = draw(SPACES)
    members = [f"{gap}{json.dumps(key)}{gap}:{gap}{value}{gap}" for key, value in pairs]
    return f"{gap}{{{','.join(members)}}}{gap}"


@st.composite
def usual_fields(draw: st.DrawFn) -> Pairs:
    """Fields of the right types, each at most once."""
    ext = [(name, draw(written(value))) for name, value in draw(st.dictionaries(LETTERS | TEXT, WIRE_TEXT)).items()]
    fields = {name: str(draw(INT32)) for name in ("code", "flag", "opaque", "version")}
    fields["language"] = json.dumps(draw(st.sampled_from(["JAVA", "GO", "KLINGON"])))
    fields["extFields"] = draw(objects(ext))
    return draw(st.permutations(list(fields.items())))


@st.composite
def odd_fields(draw: st.DrawFn) -> Pairs:
    """Any fields with any values, twice too."""
    ext = [(name, draw(written(draw(VALUES)))) for name in draw(st.lists(LETTERS, max_size=4))]
    pairs = [("code", str(draw(INT32))), ("extFields", draw(objects(ext)))]
    return pairs + [(name, draw(written(draw(VALUES)))) for name in draw(st.lists(NAMES | TEXT, max_size=4))]


@st.composite
def headers(draw: st.DrawFn) -> bytes:
    return str(draw(objects(draw(usual_fields() | odd_fields())))).encode()


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    header = draw(headers())
    at = draw(st.integers(0, len(header)))
    return header[:at] + draw(st.binary(max_size=3)) + header[at + draw(st.integers(0, 4)) :]


def shown(command: Command) -> tuple[Any, ...]:
    return (
        command.code, command.opaque, command.flag, command.language, command.version, command.remark,
        command.ext_fields, command.body, command.serialize_type,
    )  # fmt: skip


def assert_agree(header: bytes) -> None:
    scanned = scan_header(header)
    if scanned is not None:
        assert shown(scanned) == shown(parse_header(header))


@given(headers())
@example(b'{"code":1,"extFields":{"a":"x","a":""}}')
@example(b'{"code":1,"code":2}')
@example(b'{"code":-0}')
@example(b'{"code":01}')
@example(b'{"code":1.0,"flag":1e1}')
@example(b'{"code":2147483648}')
@example(b'{"code":1,"extFields":{"a":"\\ud83d\\ude00","b":"\\ud83d"}}')
@example(b'{"code":1,"extFields":{"a":"\\u00e9\\u0001\\/\\b\\f\\n\\r\\t\\"\\\\"}}')
@example(b'{"code":1,"extFields":{"a":"\\x"}}')
@example(b'{"code":1,"extFields":{"a":"b",}}')
@example(b'{"code":1,"extFields":{},"remark":null}')
@example(b"{}")
@example(b"")
def test_scanner_and_parser_agree(header: bytes) -> None:
    assert_agree(header)


@given(mutated())
def test_they_agree_on_damaged_headers(header: bytes) -> None:
    assert_agree(header)


@given(headers(), st.integers(0, 400))
def test_a_header_cut_off_is_left_to_the_parser(header: bytes, at: int) -> None:
    if header[:at].strip() != header.strip():
        assert scan_header(header[:at]) is None


@given(st.dictionaries(TEXT, WIRE_TEXT.filter(lambda text: max(text, default="") < "\U00010000")), INT32)
def test_what_a_client_writes_is_scanned(ext_fields: dict[str, str], opaque: int) -> None:
    command = Command(310, opaque=opaque, ext_fields=ext_fields, language=LanguageCode.JAVA)
    scanned = scan_header(encode_json_header(command))
    assert scanned is not None
    assert shown(scanned) == shown(command)


def sent(command: Command) -> dict[str, Any] | None:
    try:
        request = decode_send(command)
    except CommandError:
        return None
    return {name: getattr(request, name) for name in REQUEST_FIELDS}


@given(SENT, st.booleans())
def test_a_send_reads_the_same_from_both(ext_fields: dict[str, str], ascii_only: bool) -> None:
    header = json.dumps({"code": 310, "extFields": ext_fields}, ensure_ascii=ascii_only).encode()
    scanned = scan_header(header)
    if scanned is not None:
        assert sent(scanned) == sent(parse_header(header))


@given(st.binary(max_size=60))
def test_any_bytes_are_an_error_or_a_command(header: bytes) -> None:
    try:
        parse_header(header)
    except FrameError:
        assert scan_header(header) is None
