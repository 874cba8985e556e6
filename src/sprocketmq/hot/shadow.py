"""Stands in for the `cython` module where Cython is not installed: types and decorators that do nothing.

A hot module begins with

    try:
        import cython
    except ImportError:
        from sprocketmq.hot import shadow as cython

and Cython's compiler resolves `cython` by itself, so this file matters only when the module is interpreted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

compiled = False


def _keep(function: Any) -> Any:
    return function


def _option(*_values: Any, **_options: Any) -> Callable[[Any], Any]:
    return _keep


cclass = cfunc = ccall = inline = final = nogil = _keep
locals = returns = exceptval = boundscheck = wraparound = cdivision = freelist = _option
initializedcheck = overflowcheck = annotation_typing = no_gc = internal = _option


class _Type:
    """A C type: callable, subscriptable for memoryviews, and without effect."""

    def __call__(self, value: Any = 0) -> Any:
        return value

    def __getitem__(self, _item: Any) -> _Type:
        return self


bint = char = uchar = schar = short = ushort = int = uint = long = ulong = longlong = ulonglong = _Type()
Py_ssize_t = size_t = double = float = p_char = p_uchar = p_void = object = const = void = _Type()


def cast(_type: Any, value: Any, **_options: Any) -> Any:
    return value
