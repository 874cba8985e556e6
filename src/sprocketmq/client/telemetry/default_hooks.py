"""Whether telemetry hooks belong into a client; the OpenTelemetry API is imported only when they do."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sprocketmq.client.telemetry.otel import Telemetry


def default_hooks() -> list[Telemetry]:
    """Telemetry, when the application has loaded OpenTelemetry's SDK; nothing otherwise."""
    if "opentelemetry.sdk.trace" not in sys.modules and "opentelemetry.sdk.metrics" not in sys.modules:
        return []
    from sprocketmq.client.telemetry.otel import Telemetry

    return [Telemetry()]
