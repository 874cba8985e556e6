"""RocketMQ's version numbers: a release and its place in RocketMQ's list of versions, `5.3.3` = 479.

From 4.0.0 on every x.y.z has two places, its snapshot's and then its own. Older releases follow no rule.
"""

from __future__ import annotations

V3_0_7_SNAPSHOT = 28
V3_0_11 = 37
V3_1_8_SNAPSHOT = 62
V3_4_9 = 121
V4_0_0 = 213
V4_9_3 = 399
V4_9_4 = 401
V5_0_0 = 413

_LAST = 2 * 199 + V4_0_0  # 5.9.9
_OLDER = {
    V3_0_7_SNAPSHOT: "3.0.7-SNAPSHOT",
    V3_0_11: "3.0.11",
    V3_1_8_SNAPSHOT: "3.1.8-SNAPSHOT",
    V3_4_9: "3.4.9",
}


def version_name(number: int) -> str:
    """`5.3.3` for 479. A number outside the rule is shown as it is: peers may be newer than this list."""
    if number in _OLDER:
        return _OLDER[number]
    if not V4_0_0 - 1 <= number <= _LAST:
        return f"version {number}"
    place, snapshot = divmod(number - V4_0_0 + 1, 2)
    major, minor, patch = 4 + place // 100, place // 10 % 10, place % 10
    return f"{major}.{minor}.{patch}" + ("" if snapshot else "-SNAPSHOT")
