from __future__ import annotations

from dataclasses import dataclass

import pytest

from sprocketmq.errors import CommandError
from sprocketmq.protocol.enums import BoundaryType
from sprocketmq.protocol.fields import Long, wire
from sprocketmq.protocol.header import from_ext_fields, to_ext_fields
from sprocketmq.protocol.headers.offsets import SearchOffsetRequestHeader
from sprocketmq.protocol.headers.send import SendMessageRequestHeaderV2


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    name: str = wire("n")
    small: int = wire("s")
    big: Long | None = wire("b", default=None)
    on: bool | None = wire("o", default=None)
    rate: float | None = wire("r", default=None)


def parse(**ext: str) -> Sample:
    return from_ext_fields(Sample, ext)


def test_a_header_comes_back_from_its_fields() -> None:
    header = Sample(name="x", small=-1, big=1 << 40, on=True, rate=0.5)
    ext = to_ext_fields(header)
    assert ext == {"n": "x", "s": "-1", "b": "1099511627776", "o": "true", "r": "0.5"}
    assert from_ext_fields(Sample, ext) == header


def test_none_is_not_written() -> None:
    assert to_ext_fields(Sample(name="", small=0)) == {"n": "", "s": "0"}


def test_unknown_keys_are_ignored() -> None:
    assert parse(n="x", s="1", later="?") == Sample(name="x", small=1)


def test_every_missing_field_is_named() -> None:
    with pytest.raises(CommandError, match="Sample lacks n, s"):
        from_ext_fields(Sample, None)


def test_an_empty_number_is_null_and_an_empty_text_is_a_text() -> None:
    assert parse(n="", s="1", b="", o="") == Sample(name="", small=1)
    with pytest.raises(CommandError, match="lacks s"):
        parse(n="x", s="")


@pytest.mark.parametrize("text", ["x", "1.0", "1_0", " 1", "0x1", "2147483648", "-2147483649", "١", "9" * 5000])
def test_a_malformed_int_is_refused_by_name(text: str) -> None:
    with pytest.raises(CommandError, match=r"Sample\.s cannot be") as refused:
        parse(n="x", s=text)
    assert len(str(refused.value)) < 120


@pytest.mark.parametrize(("text", "value"), [("2147483647", 2147483647), ("-2147483648", -2147483648), ("+7", 7)])
def test_an_int_reaches_its_bounds(text: str, value: int) -> None:
    assert parse(n="x", s=text).small == value


def test_a_long_reaches_its_bounds() -> None:
    assert parse(n="x", s="1", b=str(-(1 << 63))).big == -(1 << 63)
    with pytest.raises(CommandError, match=r"Sample\.b"):
        parse(n="x", s="1", b=str(1 << 63))


@pytest.mark.parametrize("text", ["yes", "1", "tru"])
def test_a_malformed_bool_is_refused(text: str) -> None:
    with pytest.raises(CommandError, match=r"Sample\.o"):
        parse(n="x", s="1", o=text)


def test_an_enum_travels_by_name() -> None:
    header = SearchOffsetRequestHeader(topic="T", queue_id=0, timestamp=5, boundary_type=BoundaryType.UPPER)
    assert to_ext_fields(header)["boundaryType"] == "UPPER"
    assert from_ext_fields(SearchOffsetRequestHeader, to_ext_fields(header)) == header
    with pytest.raises(CommandError, match="boundaryType cannot be 'MIDDLE'"):
        from_ext_fields(SearchOffsetRequestHeader, {**to_ext_fields(header), "boundaryType": "MIDDLE"})


def test_send_v2_uses_letters() -> None:
    ext = {"a": "PG", "b": "T", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1794769231076", "h": "0"}
    ext |= {"i": "TAGS\x01TagA\x02", "j": "0", "k": "false", "m": "false", "n": "broker-a"}
    header = from_ext_fields(SendMessageRequestHeaderV2, ext)
    assert (header.producer_group, header.topic, header.born_timestamp) == ("PG", "T", 1794769231076)
    assert (header.unit_mode, header.batch, header.max_reconsume_times) == (False, False, None)
    assert to_ext_fields(header) == ext
