"""How pages of ours look: one set of colours and sizes, light and dark, for the report and the console alike."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def tokens() -> str:
    """The style sheet with the names of colours and sizes that other sheets are written in."""
    return Path(__file__).with_name("tokens.css").read_text("utf-8")
