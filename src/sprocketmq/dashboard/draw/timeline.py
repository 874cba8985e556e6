"""A message's trace as a time line: when it was sent, when each group had it, how long that took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from sprocketmq.client.telemetry.trace_records import TraceRecord

_ROW, _LEFT, _WIDTHS = 34, 6, {"wide": 900, "narrow": 340}


@dataclass(frozen=True, slots=True)
class Step:
    """Something that somebody did with the message; `success` is None when nobody told."""

    label: str
    begin_ms: int
    length_ms: int
    success: bool | None


def steps(records: Sequence[TraceRecord]) -> list[Step]:
    """Sends and consumptions, oldest first. A consumption is two records with one request id."""
    ends = {record.request_id: record for record in records if record.kind == "SubAfter"}
    found = []
    for record in records:
        if record.kind == "Pub":
            found.append(Step(f"sent by {record.group}", record.timestamp_ms, record.cost_ms or 0, record.success))
        elif record.kind == "EndTransaction":
            found.append(Step(f"transaction ended by {record.group}", record.timestamp_ms, 0, record.success))
        elif record.kind == "SubBefore":
            end = ends.get(record.request_id)
            cost = (end.cost_ms or 0) if end is not None else 0
            label = f"consumed by {record.group}" if end is not None else f"received by {record.group}"
            found.append(Step(label, record.timestamp_ms, cost, None if end is None else end.success))
    return sorted(found, key=lambda step: step.begin_ms)


def timeline(found: Sequence[Step]) -> Markup:
    if not found:
        return Markup("")
    begin = found[0].begin_ms
    whole = max(max(step.begin_ms + step.length_ms for step in found) - begin, 1)
    pictures = (_picture(kind, width, found, begin, whole) for kind, width in _WIDTHS.items())
    return Markup('<figure class="chart">{}</figure>').format(Markup("").join(pictures))


def _picture(kind: str, width: int, found: Sequence[Step], begin: int, whole: int) -> Markup:
    scale = (width - 2 * _LEFT) / whole
    rows = []
    for number, step in enumerate(found):
        top = number * _ROW
        x = _LEFT + (step.begin_ms - begin) * scale
        length = max(step.length_ms * scale, 4)
        colour = "bar failed" if step.success is False else "bar" if step.label.startswith("sent") else "bar late"
        said = f"{step.label}, {step.begin_ms - begin:+,} ms, took {step.length_ms:,} ms" + _outcome(step)
        anchor = "end" if x > width / 2 else "start"
        at = x + length if anchor == "end" else x
        rows.append(Markup('<text x="{:.1f}" y="{}" class="{} name">{}</text>').format(at, top + 12, anchor, said))
        bar = Markup('<rect x="{:.1f}" y="{}" width="{:.1f}" height="10" rx="2" class="{}"/>')
        rows.append(bar.format(min(x, width - _LEFT - length), top + 17, length, colour))
    label = "; ".join(step.label for step in found)
    return Markup('<svg class="{}" viewBox="0 0 {} {}" role="img" aria-label="Time line: {}">{}</svg>').format(
        kind, width, len(found) * _ROW, label, Markup("").join(rows)
    )


def _outcome(step: Step) -> str:
    return "" if step.success is None else ", succeeded" if step.success else ", failed"
