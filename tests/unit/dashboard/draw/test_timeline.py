from __future__ import annotations

from xml.etree import ElementTree

from sprocketmq.client.telemetry.trace_records import TraceRecord
from sprocketmq.dashboard.draw.timeline import Step, steps, timeline

RECORDS = [
    TraceRecord("SubBefore", 1100, "billing", None, ("id",), None, None, "r1"),
    TraceRecord("SubAfter", 1150, "billing", None, ("id",), 50, False, "r1"),
    TraceRecord("Pub", 1000, "shop", "orders", ("id",), 3, True),
    TraceRecord("SubBefore", 1200, "<audit>", None, ("id",), None, None, "r2"),
]


def test_what_was_done_with_a_message_in_order() -> None:
    assert steps(RECORDS) == [
        Step("sent by shop", 1000, 3, True),
        Step("consumed by billing", 1100, 50, False),
        Step("received by <audit>", 1200, 0, None),
    ]


def test_the_picture() -> None:
    found = ElementTree.fromstring(str(timeline(steps(RECORDS))))
    assert [svg.get("class") for svg in found] == ["wide", "narrow"]
    assert [bar.get("class") for bar in found[0].findall("rect")] == ["bar", "bar failed", "bar late"]
    assert timeline([]) == ""
