from __future__ import annotations

import hashlib
import json
import tracemalloc
import zlib
from pathlib import Path

import lz4.frame
import pytest
import zstandard

from sprocketmq.errors import BodyError
from sprocketmq.protocol.record.compression import compress, decompress
from sprocketmq.protocol.record.sysflag import CompressionType, compression_type

SAMPLES = json.loads((Path(__file__).parents[3] / "data" / "golden" / "compressed_bodies.json").read_text())
TEXT = b"".join(b"line %d of a body\n" % n for n in range(5_000))
BOMB = 256 * 1024 * 1024


def bomb(kind: CompressionType) -> bytes:
    """A few hundred kilobytes at most that hold 256 MiB, made without ever holding them."""
    zeros, times = bytes(1024 * 1024), BOMB // (1024 * 1024)
    if kind is CompressionType.ZLIB:
        deflate = zlib.compressobj()
        return b"".join([deflate.compress(zeros) for _ in range(times)]) + deflate.flush()
    if kind is CompressionType.LZ4:
        frame = lz4.frame.LZ4FrameCompressor()
        return b"".join([frame.begin(), *(frame.compress(zeros) for _ in range(times)), frame.flush()])
    stream = zstandard.ZstdCompressor().compressobj()
    return b"".join([stream.compress(zeros) for _ in range(times)]) + stream.flush()


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_bodies_that_java_compressed(name: str) -> None:
    sample = SAMPLES[name]
    kind = compression_type(sample["sysFlag"])
    assert kind is not None
    body = decompress(bytes.fromhex(sample["body"]), kind)
    assert (len(body), hashlib.md5(body).hexdigest()) == (sample["bodyLength"], sample["bodyMd5"])


@pytest.mark.parametrize("kind", CompressionType)
@pytest.mark.parametrize("data", [b"", b"x", TEXT, bytes(range(256)) * 4096])
def test_it_comes_back(kind: CompressionType, data: bytes) -> None:
    assert decompress(compress(data, kind), kind, limit=len(data)) == data
    assert len(compress(TEXT, kind, 9)) < len(TEXT) / 3


@pytest.mark.parametrize("kind", CompressionType)
def test_every_truncation_is_refused(kind: CompressionType) -> None:
    whole = compress(TEXT[:400], kind)
    for end in range(len(whole)):
        with pytest.raises(BodyError):
            decompress(whole[:end], kind)


@pytest.mark.parametrize("kind", CompressionType)
@pytest.mark.parametrize("data", [b"not compressed", bytes(100), b"\xff" * 100])
def test_garbage_is_refused(kind: CompressionType, data: bytes) -> None:
    with pytest.raises(BodyError):
        decompress(data, kind)


@pytest.mark.parametrize("kind", CompressionType)
def test_the_limit_is_exact(kind: CompressionType) -> None:
    data = compress(TEXT, kind)
    assert decompress(data, kind, limit=len(TEXT)) == TEXT
    with pytest.raises(BodyError, match="holds more than"):
        decompress(data, kind, limit=len(TEXT) - 1)


@pytest.mark.parametrize("kind", CompressionType)
def test_a_bomb_takes_no_memory(kind: CompressionType) -> None:
    limit, data = 1024 * 1024, bomb(kind)
    tracemalloc.start()
    try:
        with pytest.raises(BodyError, match="holds more than"):
            decompress(data, kind, limit=limit)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 16 * limit
