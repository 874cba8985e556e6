from __future__ import annotations

import pytest

from sprocketmq.dashboard.web import render


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (render.count(1234567), "1,234,567"), (render.count(None), "–"), (render.rate(0), "0/s"),
        (render.rate(12.5), "12/s"), (render.size(2048), "2.05 kB"), (render.size(-1), "-1 B"),
        (render.percent(0.256), "26 %"), (render.span(90_000), "1.5 min"),
        (render.ago(0), "–"), (render.path_part("%RETRY%a|b"), "%25RETRY%25a%7Cb"), (render.moment(2**62), str(2**62)),
    ],
)  # fmt: skip
def test_numbers_and_times(shown: str, text: str) -> None:
    assert shown == text


def test_a_moment_can_be_read_by_programs() -> None:
    assert render.moment(1_700_000_000_000) == ('<time datetime="2023-11-14T22:13:20+00:00">2023-11-14 22:13:20</time>')


def test_templates_escape() -> None:
    assert render.environment().from_string("{{ x }}").render(x="<b>") == "&lt;b&gt;"
