"""The few of a broker's sixty figures that a person looks for first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sprocketmq.cli.output.tables import Ratio, moment, number


def summary(figures: Mapping[str, str]) -> dict[str, Any]:
    """A figure that the broker does not tell is None."""
    from sprocketmq.client.admin.brokers import version_of

    def value(key: str) -> Any:
        text = figures.get(key, "").split(" ")[0]  # rates are three averages; the first is of the last seconds
        return number(text) if text else None

    started, disk = value("bootTimestamp"), value("commitLogDiskRatio")
    first, end = value("commitLogMinOffset"), value("commitLogMaxOffset")
    return {
        "version": version_of(figures),
        "active": figures.get("brokerActive", "true") == "true",
        "started": moment(started) if isinstance(started, int) else None,
        "in_per_second": value("putTps"),
        "out_per_second": value("getTransferredTps"),
        "messages_in": value("putMessageTimesTotal"),
        "bytes_in": value("putMessageSizeTotal"),
        "log_bytes": end - first if isinstance(first, int) and isinstance(end, int) else None,
        "disk": Ratio(disk) if isinstance(disk, (int, float)) else None,
        "dispatch_behind_bytes": value("dispatchBehindBytes"),
        "slowest_put_ms": value("putMessageEntireTimeMax"),
        "failed_puts": value("putMessageFailedTimes"),
    }
