"""What the commands take besides click's own types: numbers that are numbers, and texts that may be any bytes."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

import click

#: As in C; `\xHH` besides.
ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}


class Finite(click.FloatRange):
    """click takes `nan` and `inf` for numbers within any bounds; no clock can wait for either."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not abs(number) < float("inf"):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


class Octets(click.ParamType[bytes]):
    """The bytes of an argument as the shell gave them: a body need not be text."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        return value if isinstance(value, bytes) else os.fsencode(value)


def unescaped(text: bytes) -> bytes:
    """With `\\t` and the like as the bytes that they stand for; what stands for nothing stays as it is."""
    return re.sub(rb"\\(.)", lambda found: ESCAPES.get(found[1].decode("latin-1"), found[0]), text, flags=re.DOTALL)


def check_unicode(ctx: click.Context) -> None:
    """What travels as text is Unicode: an argument that is not is told by the name of its option."""
    for param in ctx.command.params:
        given = ctx.params.get(param.name or "")
        for text in given if isinstance(given, tuple) else (given,):
            if isinstance(text, str) and not _is_unicode(text):
                encoding = sys.getfilesystemencoding().upper()
                raise click.BadParameter(f"{os.fsencode(text)!r} is not {encoding}", ctx, param)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
