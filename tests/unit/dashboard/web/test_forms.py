from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sprocketmq.dashboard.web.forms import BadForm, WebForm, token_of

FORM = WebForm(
    {"name": [" a ", " b "], "number": ["12"], "when": ["2026-01-02T03:04:05"], "text": ["a\r\nb"], "bad": ["x"]}
)


def test_fields() -> None:
    assert FORM.text("name") == "b"
    assert FORM.all("name") == [" a ", " b "]
    assert FORM.raw("text") == "a\nb"
    assert FORM.number("number", "Number", 1, 12) == 12
    assert FORM.number("none", "None", 1, 12, default=3) == 3
    assert FORM.moment("when", "When") == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_what_cannot_be_used_is_named() -> None:
    with pytest.raises(BadForm, match="Number: expected a whole number from 1 to 11"):
        FORM.number("number", "Number", 1, 11)
    with pytest.raises(BadForm, match="Bad: expected a whole number"):
        FORM.number("bad", "Bad", 1, 11)
    for text in ("0" * 20 + "9" * 30, "9" * 5000):
        with pytest.raises(BadForm, match="Long: expected a whole number"):
            WebForm({"long": [text]}).number("long", "Long", 0, 2**62)
    with pytest.raises(BadForm, match="Bad: expected a date"):
        FORM.moment("bad", "Bad")
    with pytest.raises(BadForm, match="Name: this field is required"):
        FORM.needed("none", "Name")


def test_a_session_keeps_its_token() -> None:
    session: dict[str, str] = {}
    token = token_of(session)
    assert len(token) > 20
    assert token_of(session) == token
    assert token_of({}) != token
