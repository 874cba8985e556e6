"""Pull answers as Arrow record batches: decoded in bulk, without an object per message.

The columns are those of `protocol.arrow.columns`, and `brokerName` before them.
"""

from __future__ import annotations

from collections.abc import Sequence

from sprocketmq import extras

extras.need("a record batch", "pyarrow", "arrow")

import pyarrow as pa  # noqa: E402
import pyarrow.compute as pc  # noqa: E402

from sprocketmq.protocol.arrow.columns import decode_columns  # noqa: E402
from sprocketmq.protocol.arrow.literals import number, repeated, texts  # noqa: E402

BROKER = "brokerName"


def record_batch(pulls: Sequence[bytes], broker_name: str) -> pa.RecordBatch:
    """The records of these pulls, in order."""
    batch = decode_columns(pulls[0] if len(pulls) == 1 else b"".join(pulls))
    names = repeated(broker_name, batch.num_rows)
    return pa.RecordBatch.from_arrays([names, *batch.columns], names=[BROKER, *batch.schema.names])


def tagged(batch: pa.RecordBatch, tags: frozenset[str]) -> pa.RecordBatch:
    """The rows whose tag is one of `tags` to the letter; all of them when there are none."""
    if not tags:
        return batch
    return batch.filter(pc.is_in(batch.column("tags"), value_set=texts(tags)))


def before(batch: pa.RecordBatch, end: int) -> pa.RecordBatch:
    """The rows before offset `end`."""
    offsets = batch.column("queueOffset")
    if not batch.num_rows or offsets[-1].as_py() < end:
        return batch
    return batch.filter(pc.less(offsets, number(end)))


def joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch | None:
    """One batch of all of them; None when there is nothing in them."""
    filled = [batch for batch in batches if batch.num_rows]
    if not filled:
        return None
    if len(filled) == 1:
        return filled[0]
    return pa.Table.from_batches(filled).combine_chunks().to_batches()[0]
