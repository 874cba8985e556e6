"""Bodies: the form that fits, and bodies that were made to break a page."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from sprocketmq.dashboard.draw.body import best_form, drawn, hex_dump, preview


@pytest.mark.parametrize(
    ("body", "form"),
    [
        (b'{"a": 1}', "json"), (b"[1]", "json"), (b"plain", "text"), (b"{broken", "text"), (b"\xff\xfe", "hex"),
        (b"a\x00b", "hex"), ("Grüße\n".encode(), "text"), (b"", "text"), (b"42", "text"),
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
    assert len(preview(b"x" * 1000)) == 121
