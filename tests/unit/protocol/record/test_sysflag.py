from __future__ import annotations

import pytest

from sprocketmq.errors import BodyError
from sprocketmq.protocol.record import sysflag
from sprocketmq.protocol.record.sysflag import CompressionType, compression_type, transaction_type, with_compression


@pytest.mark.parametrize(
    ("sys_flag", "kind"),
    [
        (0, None),
        (0x300, None),
        (0x1, CompressionType.ZLIB),
        (0x301, CompressionType.ZLIB),
        (0x101, CompressionType.LZ4),
        (0x231, CompressionType.ZSTD),
    ],
)
def test_compression_type(sys_flag: int, kind: CompressionType | None) -> None:
    assert compression_type(sys_flag) is kind


def test_an_unknown_compression_is_refused() -> None:
    with pytest.raises(BodyError, match="compression type 4"):
        compression_type(0x401)


def test_compression_is_set_and_cleared_and_nothing_else_moves() -> None:
    assert with_compression(0x30, CompressionType.ZSTD) == 0x231
    assert with_compression(0x331, CompressionType.LZ4) == 0x131
    assert with_compression(0x331, None) == 0x30


def test_transaction_type() -> None:
    prepared = sysflag.with_transaction_type(0x11, sysflag.TRANSACTION_PREPARED)
    assert (prepared, transaction_type(prepared)) == (0x15, sysflag.TRANSACTION_PREPARED)
    assert sysflag.with_transaction_type(prepared, sysflag.TRANSACTION_ROLLBACK) == 0x1D
    assert sysflag.with_transaction_type(prepared, 0) == 0x11


@pytest.mark.parametrize(
    ("kind", "queued", "indexed"),
    [
        (0, True, True),
        (sysflag.TRANSACTION_PREPARED, False, True),
        (sysflag.TRANSACTION_COMMIT, True, True),
        (sysflag.TRANSACTION_ROLLBACK, False, False),
    ],
)
def test_what_a_transaction_type_means_for_queue_and_index(kind: int, queued: bool, indexed: bool) -> None:
    for others in (0, 0xF3 ^ 0x300):
        sys_flag = others | kind
        assert (sysflag.is_queued(sys_flag), sysflag.is_indexed(sys_flag)) == (queued, indexed)
