"""Forms: what they hold, and the token that shows that a page of ours sent them."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

TOKEN = "csrf"
#: For a field that names a broker: all of them. No broker can have it for a name.
EVERY_BROKER = "*"
_MAX_FIELDS = 2000
#: As many as the largest number has that any field takes.
_MOST_DIGITS = 19
_MAX_FILES = 0
_MAX_PART_BYTES = 8 * 1024 * 1024
#: What is longer is not even read; see `bounded_http` for what says another length than it has.
_MAX_FORM_BYTES = 15 * 1024 * 1024


class BadForm(Exception):
    """What a form says cannot be used; the text is for the one who sent it."""


def chosen_brokers(broker: str, have: Iterable[str], *, differ: bool) -> list[str | None]:
    """The brokers to change: the one that was chosen, else those that have it already; None for what is new, which all
    of them get. Where they differ, nobody makes them equal unasked.
    """
    if not broker and differ:
        raise BadForm("Broker: the settings differ between brokers; choose one broker, or every broker.")
    return [*have] or [None] if broker in ("", EVERY_BROKER) else [broker]


class Forged(Exception):
    """A form without our token: another site may have sent it."""


class WebForm:
    """The fields of a form; every reader says which field it could not use."""

    def __init__(self, fields: dict[str, list[str]]) -> None:
        self._fields = fields

    def text(self, name: str, default: str = "") -> str:
        values = self._fields.get(name, [])
        return values[-1].strip() if values else default

    def raw(self, name: str) -> str:
        """As it was typed; browsers send line ends as CR LF."""
        values = self._fields.get(name, [])
        return values[-1].replace("\r\n", "\n") if values else ""

    def all(self, name: str) -> list[str]:
        return self._fields.get(name, [])

    def flag(self, name: str) -> bool:
        return bool(self.text(name))

    def needed(self, name: str, label: str) -> str:
        if not (value := self.text(name)):
            raise BadForm(f"{label}: this field is required.")
        return value

    def number(self, name: str, label: str, low: int, high: int, default: int | None = None) -> int:
        text = self.text(name)
        if not text and default is not None:
            return default
        if not text.isdecimal() or len(text) > _MOST_DIGITS or not low <= int(text) <= high:
            raise BadForm(f"{label}: expected a whole number from {low:,} to {high:,}.")
        return int(text)

    def moment(self, name: str, label: str) -> datetime:
        """A date and time in UTC."""
        text = self.text(name)
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            raise BadForm(f"{label}: expected a date and time such as 2026-11-15T19:27:02.") from None
        return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def token_of(session: dict[str, Any]) -> str:
    """The token of a session; a new session gets one."""
    if TOKEN not in session:
        session[TOKEN] = secrets.token_urlsafe(24)
    token: str = session[TOKEN]
    return token


async def read_form(request: Request) -> WebForm:
    """Raises Forged when the token is not that of the session."""
    if int(request.headers.get("content-length", "0")) > _MAX_FORM_BYTES:
        raise BadForm(f"A form may have at most {_MAX_FORM_BYTES:,} bytes.")
    try:
        found = await request.form(max_files=_MAX_FILES, max_fields=_MAX_FIELDS, max_part_size=_MAX_PART_BYTES)
    except HTTPException as error:
        raise BadForm(error.detail) from None
    fields: dict[str, list[str]] = {}
    for name, value in found.multi_items():
        if isinstance(value, str):
            fields.setdefault(name, []).append(value)
    form = WebForm(fields)
    wanted = request.session.get(TOKEN)
    if not wanted or not hmac.compare_digest(form.text(TOKEN).encode(), str(wanted).encode()):
        raise Forged
    return form
