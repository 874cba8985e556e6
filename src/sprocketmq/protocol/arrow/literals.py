"""Arrow values of Python's, made without pandas.

pyarrow's own `array`, `scalar` and `repeat` import pandas, where there is one, to know whether they were given
something of its kind. That is a third of a second in each process, and each of Spark's workers is one.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection
from itertools import accumulate
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import pyarrow as pa


def texts(values: Collection[str]) -> pa.Array[Any]:
    import pyarrow as pa

    encoded = [value.encode() for value in values]
    ends = array("i", accumulate(map(len, encoded), initial=0))
    return pa.Array.from_buffers(pa.string(), len(encoded), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))])


def repeated(text: str | None, count: int) -> pa.Array[Any]:
    """A column that says the same in each row."""
    import pyarrow as pa

    if text is None:
        return pa.nulls(count, pa.string())
    data = text.encode()
    ends = array("i", range(0, len(data) * count + 1, len(data))) if data else array("i", [0]) * (count + 1)
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(ends), pa.py_buffer(data * count)])


def numbers(values: Collection[int], bits: int = 64) -> pa.Array[Any]:
    """Signed numbers of 32 or 64 bits."""
    import pyarrow as pa

    code, kind = ("i", pa.int32()) if bits == 32 else ("q", pa.int64())
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(array(code, values))])


def number(value: int, bits: int = 64) -> pa.Scalar[Any]:
    return cast("pa.Scalar[Any]", numbers([value], bits)[0])
