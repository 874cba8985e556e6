"""Bodies: the form that fits, and bodies that were made to break a page."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from sprocketmq.dashboard.draw.body import best_form, cut_at, drawn, hex_dump, preview


@pytest.mark.parametrize(
    ("body", "form"),
    [
        (b'{"a": 1}', "json"), (b"[1]", "json"), (b"plain", "text"), (b"{broken", "text"), (b"\xff\xfe", "hex"),
        (b"a\x00b", "hex"), ("Grüße\n".encode(), "text"), (b"", "text"), (b"42", "text"),
        ("家族 \U0001f469\u200d\U0001f467，全角\u3000空格".encode(), "text"), (b"\x1b[31m", "hex"),
        ("soft\u00adhyphen\u00a0".encode(), "text"),
        (b'{"a": NaN}', "json"),
    ],
)  # fmt: skip
def test_the_form_that_fits(body: bytes, form: str) -> None:
    assert best_form(body) == form


def test_json_folds() -> None:
    text = str(drawn(b'{"a": [1, true, null, "<script>"], "b": {}}', "json"))
    ElementTree.fromstring(text)
    assert '<span class="key">a</span>: <span class="soft">[4]</span>' in text
    assert '<span class="value">true</span>' in text
    assert '<span class="value">1</span>' in text
    assert "&lt;script&gt;" in text


def test_numbers_are_as_they_were_written() -> None:
    """A reader that makes doubles of them shows another order number than was sent."""
    text = str(drawn(b'{"id": 123456789012345678901234567890, "price": 0.10, "far": 1e400, "none": -Infinity}', "json"))
    for number in ("123456789012345678901234567890", "0.10", "1e400", "-Infinity"):
        assert f'<span class="value">{number}</span>' in text


def test_what_is_cut_is_told() -> None:
    assert (cut_at(b"x" * 20_000, "text"), cut_at(b"x" * 20_000, "hex")) == (None, 16 * 1024)
    assert cut_at(b"x" * 200_000, "text") == 128 * 1024


def test_json_that_is_deep_or_wide_is_cut() -> None:
    deep = drawn(b"[" * 500 + b"]" * 500, "json")
    assert str(deep).count("<details") <= 25
    wide = drawn(b"[" + b"1," * 50_000 + b"1]", "json")
    assert str(wide).count("<div") < 3100
    assert "…" in wide
    assert best_form(b"[" * 100_000 + b"]" * 100_000) == "text", "deeper than any reader goes"


def test_hex() -> None:
    assert hex_dump(bytes(range(60, 78))).splitlines() == [
        "00000000  3c 3d 3e 3f 40 41 42 43 44 45 46 47 48 49 4a 4b  <=>?@ABCDEFGHIJK",
        "00000010  4c 4d                                            LM",
    ]
    assert "&lt;=&gt;" in drawn(b"<=>", "hex")


def test_preview_is_one_line() -> None:
    assert preview(b"a\nb\x00c") == "a·b·c"
    assert preview("家\u3000族\u202edlrow".encode()) == "家\u3000族·dlrow", "and it turns no other one around"
    assert len(preview(b"x" * 1000)) == 121
