"""Files of a broker: written by `store.MessageStore`, looked into by `view`.

`scan` and `Scan` need pyarrow, and are imported when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sprocketmq.store.view.scan_batches import Scan, scan

__all__ = ["Scan", "scan"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from sprocketmq.store.view import scan_batches

        return getattr(scan_batches, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
