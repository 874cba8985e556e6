"""The Python process that Spark runs tasks in, one after the other."""

from __future__ import annotations

import gc
from itertools import count

_tasks = count(1)


def settle() -> None:
    """To be called when a task begins: what is there by then stays out of the way of Spark's garbage collections.

    Spark collects garbage after every task, and looks at everything that was ever imported: with pandas, numpy and
    Arrow that takes 25 ms, as long as a task of a stream that has little to do. The second task is the one to wait
    for, as pandas comes in at the end of the first. Frozen garbage would stay for good, so it is collected first.
    """
    if next(_tasks) == 2:
        gc.collect()
        gc.freeze()
