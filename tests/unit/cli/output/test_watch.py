from __future__ import annotations

import io

import pytest

from sprocketmq.cli.output.watch import watched


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Enough(Exception):
    pass


def twice(out: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> str:
    rests: list[float] = []

    def rest(seconds: float) -> None:
        rests.append(seconds)
        if len(rests) == 2:
            raise Enough

    monkeypatch.setattr("sys.stdout", out)
    with pytest.raises(Enough):
        watched(lambda: out.write("drawn\n"), 2.0, rest)
    assert rests == [2.0, 2.0]
    return out.getvalue()


def test_a_terminal_is_drawn_over(monkeypatch: pytest.MonkeyPatch) -> None:
    assert twice(Terminal(), monkeypatch).count("\x1b[H\x1b[2J") == 2


def test_a_pipe_gets_one_below_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    assert twice(io.StringIO(), monkeypatch) == "drawn\ndrawn\n"


def test_once() -> None:
    drawn: list[int] = []
    watched(lambda: drawn.append(1), None)
    assert drawn == [1]
