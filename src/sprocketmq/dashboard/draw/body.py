"""A message's body as people read it: text, JSON that folds, or bytes in hexadecimal."""

from __future__ import annotations

import json
import re
from typing import Any

from markupsafe import Markup

from sprocketmq.client.received import ReceivedMessage
from sprocketmq.errors import BodyError

#: More of a body is not shown on a page; it can be downloaded whole.
SHOWN_BYTES = 128 * 1024
_DEEPEST = 24
_MOST_NODES = 3000
_OPEN_DEPTH = 2
_HEX_BYTES = 16 * 1024

#: What text does not have: every other character is of some script, the spaces and joiners of all of them too.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")
#: What would end a line or turn its direction.
_NO_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")

FORMS = ("text", "json", "hex")


class _Number(str):
    """As it was written: a number that is read is another one beyond 2**53."""


def best_form(body: bytes) -> str:
    """JSON when it is a JSON object or list, text when it is text, else hex."""
    if body[:1] in (b"{", b"[") and _parsed(body) is not None:
        return "json"
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return "hex"
    return "hex" if _CONTROL.search(text, 0, 4096) else "text"


def cut_at(body: bytes, form: str) -> int | None:
    """How much of the body the form shows; None when it is all of it."""
    most = _HEX_BYTES if form == "hex" else SHOWN_BYTES
    return most if len(body) > most else None


def drawn(body: bytes, form: str) -> Markup:
    if form == "json":
        parsed = _parsed(body)
        return drawn(body, "text") if parsed is None else _json(parsed)
    if form == "hex":
        return Markup('<pre class="hex" tabindex="0">{}</pre>').format(hex_dump(body[:_HEX_BYTES]))
    return Markup('<pre tabindex="0">{}</pre>').format(body[:SHOWN_BYTES].decode(errors="replace"))


def preview(body: bytes, length: int = 120) -> str:
    """One line for a table."""
    text = body[: length * 4].decode(errors="replace")
    plain = _NO_LINE.sub("·", text)
    return plain if len(plain) <= length else f"{plain[:length]}…"


def row_of(message: ReceivedMessage) -> tuple[int, str]:
    """How large a body is and one line of it; what cannot be inflated is as large as it is stored, and says so."""
    try:
        return len(message.body), preview(message.body)
    except BodyError as error:
        return len(message.record.body), f"unreadable: {error}"


def hex_dump(body: bytes) -> str:
    """`00000010  61 62 ...  ab`, sixteen bytes a line."""
    lines = []
    for at in range(0, len(body), 16):
        part = body[at : at + 16]
        plain = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        lines.append(f"{at:08x}  {part.hex(' ', 1):<47}  {plain}")
    return "\n".join(lines)


def _parsed(body: bytes) -> Any:
    """None when it is no JSON, too large to be folded, or nothing but a null."""
    if len(body) > SHOWN_BYTES:
        return None
    try:
        return json.loads(body, parse_int=_Number, parse_float=_Number, parse_constant=_Number)
    except (ValueError, RecursionError):
        return None


def _json(value: Any) -> Markup:
    left = [_MOST_NODES]
    return Markup('<div class="json">{}</div>').format(_node(value, None, 0, left))


def _node(value: Any, key: str | None, depth: int, left: list[int]) -> Markup:
    """A node of the tree; what lies too deep, or comes after too many, is told as a count."""
    left[0] -= 1
    name = Markup('<span class="key">{}</span>: ').format(key) if key is not None else Markup("")
    if not isinstance(value, dict | list):
        return Markup("<div>{}{}</div>").format(name, _leaf(value))
    size = f"{{{len(value)}}}" if isinstance(value, dict) else f"[{len(value)}]"
    if not value or depth >= _DEEPEST or left[0] <= 0:
        return Markup('<div>{}<span class="soft">{}</span></div>').format(name, size)
    pairs = value.items() if isinstance(value, dict) else ((str(at), item) for at, item in enumerate(value))
    inside = []
    for inner, item in pairs:
        if left[0] <= 0:
            inside.append(Markup('<div class="soft">…</div>'))
            break
        inside.append(_node(item, inner, depth + 1, left))
    opened = Markup(' open=""') if depth < _OPEN_DEPTH else Markup("")
    return Markup('<details{}><summary>{}<span class="soft">{}</span></summary>{}</details>').format(
        opened, name, size, Markup("").join(inside)
    )


def _leaf(value: Any) -> Markup:
    if isinstance(value, _Number):
        return Markup('<span class="value">{}</span>').format(str(value))
    if isinstance(value, str):
        return Markup('<span class="text">"{}"</span>').format(value)
    return Markup('<span class="value">{}</span>').format(json.dumps(value))
