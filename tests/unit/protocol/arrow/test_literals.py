"""Arrow values of Python's."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest

from sprocketmq.protocol.arrow.literals import number, numbers, repeated, texts


@pytest.mark.parametrize("values", [[], ["a"], ["", "größer", "", "b" * 1000]])
def test_texts(values: list[str]) -> None:
    assert texts(values).equals(pa.array(values, pa.string()))


@pytest.mark.parametrize("text", ["", "broker-a", "größer"])
@pytest.mark.parametrize("count", [0, 1, 1000])
def test_repeated(text: str, count: int) -> None:
    column = repeated(text, count)
    column.validate(full=True)
    assert column.equals(pa.array([text] * count, pa.string()))


def test_nothing_repeated() -> None:
    assert repeated(None, 3).equals(pa.array([None] * 3, pa.string()))


@pytest.mark.parametrize(("bits", "kind"), [(32, pa.int32()), (64, pa.int64())])
def test_numbers(bits: int, kind: pa.DataType) -> None:
    limit = 2 ** (bits - 1)
    assert numbers([0, -limit, limit - 1], bits).equals(pa.array([0, -limit, limit - 1], kind))
    assert number(limit - 1, bits).equals(pa.scalar(limit - 1, kind))
    with pytest.raises(OverflowError):
        number(limit, bits)


def test_pandas_is_left_alone() -> None:
    uses = "texts(['a']), repeated('b', 3), repeated(None, 3), number(4)"
    code = f"import sys; from sprocketmq.protocol.arrow.literals import *; {uses}; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
