"""A disk that nobody waits for. Whether what was written outlives a crash is tested in tests/fault.

A broker that starts and stops syncs some fifteen times, which took longer than all that most tests of it compute.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


def _is_open(descriptor: int) -> None:
    os.fstat(descriptor)  # or it is as wrong as for a real sync


@pytest.fixture(scope="module", autouse=True)
def unsynced() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", _is_open)
        patch.setattr(os, "fdatasync", _is_open)
        yield
