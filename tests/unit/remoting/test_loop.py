from __future__ import annotations

import asyncio
import sys

import pytest

from sprocketmq.remoting import loop


async def kind_of_loop() -> str:
    return type(asyncio.get_running_loop()).__module__.partition(".")[0]


def test_uvloop_is_used_where_it_is_installed() -> None:
    assert loop.run(kind_of_loop()) == "uvloop"


def test_without_uvloop_asyncio_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert loop.run(kind_of_loop()) == "asyncio"


def test_other_threads_do_not_keep_the_loop_for_long() -> None:
    """5 ms, Python's own, is what everyone would feel of each table that is saved."""
    before = sys.getswitchinterval()
    try:
        sys.setswitchinterval(0.005)
        loop.run(kind_of_loop())
        assert sys.getswitchinterval() <= 0.001
    finally:
        sys.setswitchinterval(before)
