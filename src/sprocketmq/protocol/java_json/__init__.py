"""JSON as fastjson writes and reads it."""

from __future__ import annotations

from sprocketmq.protocol.java_json.reader import MAX_DEPTH, ObjectKey
from sprocketmq.protocol.java_json.writer import MAX_BYTES, dumps, dumps_pretty, loads

__all__ = ["MAX_BYTES", "MAX_DEPTH", "ObjectKey", "dumps", "dumps_pretty", "loads"]
