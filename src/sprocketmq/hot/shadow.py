"""Stands in for `cython` where it is not installed: what hot modules ask of it while they are interpreted.

A hot module begins with

    try:
        import cython
    except ImportError:
        from sprocketmq.hot import shadow as cython

and Cython's compiler resolves `cython` by itself, so this file matters only when the module is interpreted.
"""

from __future__ import annotations

from typing import Any

compiled = False
longlong = int


def cast(_type: type, value: Any) -> Any:
    return value
