"""What `sprocket store` tells programs, in the one form of all commands: snake_case, ISO 8601, numbers.

The store's own rows have RocketMQ's names. Names of topics, groups, queues and properties are data and stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sprocketmq.cli.output.tables import json_bytes, moment

#: Under these keys so many levels of keys are data.
_DATA = {"topics": 2, "consumerOffsets": 2, "delayOffsets": 1, "properties": 1}
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def store_json(row: Mapping[str, Any]) -> bytes:
    return json_bytes(for_programs(row))


def for_programs(value: Any, data_levels: int = 0) -> Any:
    if isinstance(value, list):
        return [for_programs(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    if data_levels:
        return {key: for_programs(item, data_levels - 1) for key, item in value.items()}
    plain = {snake(key): _field(key, item) for key, item in value.items()}
    return _with_body(plain) if "body_encoding" in plain else plain


def snake(key: str) -> str:
    return _HUMP.sub("_", key).lower()


def _field(key: str, value: Any) -> Any:
    if key.endswith("Timestamp") and isinstance(value, int):
        return moment(value)
    return for_programs(value, _DATA.get(key, 0))


def _with_body(row: dict[str, Any]) -> dict[str, Any]:
    """As everywhere: `body` is text or null, `body_base64` is there when it is null."""
    encoding = row.pop("body_encoding")
    return row if encoding == "text" else {**row, "body": None, "body_base64": row["body"]}
