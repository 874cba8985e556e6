"""Hot modules run where Cython is not installed."""

from __future__ import annotations

import re
from pathlib import Path

from sprocketmq.hot import shadow

SOURCES = Path(__file__).parents[3] / "src" / "sprocketmq"
#: What is asked of Cython on the same line only `if cython.compiled`.
_COMPILED = {"address"}


def test_the_shadow_has_what_is_asked_of_cython_and_no_more() -> None:
    asked = {name for path in SOURCES.rglob("*.py") for name in re.findall(r"\bcython\.(\w+)", path.read_text())}
    given = {name for name in vars(shadow) if re.fullmatch(r"[a-z]+", name)} - {"annotations"}
    assert asked - _COMPILED == given


def test_a_cast_changes_nothing() -> None:
    assert shadow.cast(shadow.longlong, 7) == 7
