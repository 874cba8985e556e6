"""Trace records as they are stored, read back; see `trace` for how they are written."""

from __future__ import annotations

from dataclasses import dataclass

_FIELD = "\x01"
_RECORD = "\x02"


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """One record: who did what with which messages, when, and whether it went well. None is what it does not tell."""

    kind: str
    timestamp_ms: int
    group: str | None
    topic: str | None
    message_ids: tuple[str, ...]
    cost_ms: int | None
    success: bool | None
    request_id: str | None = None


def parse_records(text: str) -> list[TraceRecord]:
    """Records of kinds that are not known are left out: newer clients write more."""
    parsers = {"Pub": _pub, "SubBefore": _sub_before, "SubAfter": _sub_after, "EndTransaction": _end}
    records = []
    for line in text.split(_RECORD):
        fields = line.split(_FIELD)
        parse = parsers.get(fields[0])
        if parse is not None and len(fields) >= 6:
            records.append(parse(fields))
    return records


def _pub(fields: list[str]) -> TraceRecord:
    success = fields[13] == "true" if len(fields) > 13 else None
    return TraceRecord("Pub", int(fields[1]), fields[3], fields[4], _ids(fields[5]), int(fields[10]), success)


def _sub_before(fields: list[str]) -> TraceRecord:
    return TraceRecord("SubBefore", int(fields[1]), fields[3], None, _ids(fields[5]), None, None, fields[4])


def _sub_after(fields: list[str]) -> TraceRecord:
    timestamp = int(fields[7]) if len(fields) > 7 and fields[7].isdecimal() else 0
    group = fields[8] if len(fields) > 8 else None
    return TraceRecord(
        "SubAfter", timestamp, group, None, _ids(fields[2]), int(fields[3]), fields[4] == "true", fields[1]
    )


def _end(fields: list[str]) -> TraceRecord:
    return TraceRecord("EndTransaction", int(fields[1]), fields[3], fields[4], _ids(fields[5]), None, None)


def _ids(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.replace(" ", ",").split(",") if part)
