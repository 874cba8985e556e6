"""Errors of ours as the user of Spark sees them: one frame and the sentence.

Spark prints a Python error with its whole traceback, chained ones too. At the entrances that Spark calls on the driver,
how our own errors came about is of no use to anyone; what they say is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from sprocketmq.errors import SprocketError

P = ParamSpec("P")
T = TypeVar("T")


def one_line(entrance: Callable[P, T]) -> Callable[P, T]:
    @wraps(entrance)
    def enter(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return entrance(*args, **kwargs)
        except SprocketError as error:
            raise error.with_traceback(None) from None

    return enter
