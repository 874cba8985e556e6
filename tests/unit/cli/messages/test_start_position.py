from __future__ import annotations

from datetime import UTC, datetime

import click
import pytest

from sprocketmq.cli.messages.read_limits import LOOK_S, ConsumeLimits
from sprocketmq.cli.messages.start_position import LastMessages, group_start, parse_start


def test_where_reading_begins() -> None:
    assert parse_start("first") == "first"
    assert parse_start("-10") == LastMessages(10)
    assert parse_start("42") == 42
    assert parse_start("1700000000000") == datetime.fromtimestamp(1_700_000_000, UTC)
    assert parse_start("2026-11-15T19:27:02+00:00") == datetime(2026, 11, 15, 19, 27, 2, tzinfo=UTC)
    assert isinstance(parse_start("15m"), datetime)


def test_a_group_begins_at_an_end_or_a_time() -> None:
    assert group_start("last") == "last"
    assert group_start("1700000000000") == datetime.fromtimestamp(1_700_000_000, UTC)
    for offset in ("-10", "10"):
        with pytest.raises(click.BadParameter, match="without a group"):
            group_start(offset)


@pytest.mark.parametrize("text", ["whenever", "", "--1", "9" * 20, "99999999999d", "0001-01-01T00:00:00+14:00"])
def test_neither(text: str) -> None:
    with pytest.raises(click.BadParameter):
        parse_start(text)


def test_limits() -> None:
    now = [0.0]
    pace = ConsumeLimits(2, 3.0).begin(lambda: now[0])
    assert (pace.is_over(), pace.patience) == (False, LOOK_S)
    now[0] = 2.9
    assert pace.patience == pytest.approx(0.1)
    pace.count()
    now[0] = 5.8
    assert not pace.is_over()
    now[0] = 5.9
    assert pace.is_over()
    pace = ConsumeLimits(1).begin(lambda: now[0])
    pace.count()
    assert pace.is_over()
