"""The scan of ordinary JSON headers agrees with the general parser, or leaves the header to it."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.json_header import encode_json_header
from sprocketmq.protocol.frame.json_header_scan import scan_header

JAVA = (
    b'{"code":310,"extFields":{"a":"PG","b":"TopicA","e":"0","i":"KEYS\\u0001k\\"1\\u0002TAGS\\u0001A\\u0002","k":""},'
    b'"flag":0,"language":"JAVA","opaque":34,"serializeTypeCurrentRPC":"JSON","version":479}'
)


def facts(command: Command) -> tuple[object, ...]:
    return (
        command.code, command.opaque, command.flag, command.version, command.language, command.remark,
        command.ext_fields,
    )  # fmt: skip


def test_what_java_writes_is_scanned() -> None:
    found = scan_header(JAVA)
    assert found is not None
    assert (found.code, found.opaque, found.version, found.language) == (310, 34, 479, 0)
    assert found.ext_fields == {
        "a": "PG", "b": "TopicA", "e": "0", "i": 'KEYS\x01k"1\x02TAGS\x01A\x02', "k": "",
    }  # fmt: skip


@pytest.mark.parametrize("ext", [None, {}])
def test_no_ext_fields_and_empty_ones_differ(ext: dict[str, str] | None) -> None:
    found = scan_header(encode_json_header(Command(34, ext_fields=ext, version=479)))
    assert found is not None
    assert found.ext_fields == ext


texts = st.text(st.characters(codec="utf-8"), max_size=12)


@given(
    st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**31 - 1), st.none() | texts,
    st.none() | st.dictionaries(texts, texts, max_size=4),
)  # fmt: skip
def test_what_is_scanned_means_the_same(code: int, opaque: int, remark: str | None, ext: dict[str, str] | None) -> None:
    command = Command(code, opaque=opaque, remark=remark, ext_fields=ext, version=479)
    found = scan_header(encode_json_header(command))
    assert found is None or facts(found) == facts(command)


@given(st.data())
def test_nothing_is_scanned_that_is_no_json(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(JAVA) - 1))
    piece = data.draw(st.sampled_from([b"", b'"', b"\\", b"{", b"}", b",", b":", b"-", b"0", b" ", b"\x01", b"\xff"]))
    header = JAVA[:at] + piece + JAVA[at + data.draw(st.integers(0, 3)) :]
    found = scan_header(header)
    if found is not None:
        parsed = orjson.loads(header)
        assert found.ext_fields == parsed.get("extFields")
        assert (found.code, found.opaque) == (parsed["code"], parsed.get("opaque", 0))
