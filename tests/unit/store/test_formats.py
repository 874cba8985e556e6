from __future__ import annotations

import struct

import pytest

from sprocketmq.errors import ConfigError, StoreError
from sprocketmq.store.config import FlushDiskType, StoreConfig
from sprocketmq.store.files.checkpoint import CHECKPOINT_SIZE, Checkpoint, decode_checkpoint
from sprocketmq.store.files.layout import Layout, base_offset_of, file_name, topic_name
from sprocketmq.store.index.format import HEADER, decode_index_entry, decode_index_header, entry_at, index_file_size
from sprocketmq.store.queue.ext_format import (
    ExtUnit,
    decode_unit,
    encode_unit,
    ext_address,
    ext_offset,
    is_ext_address,
)
from sprocketmq.store.queue.format import ENTRY, FILLER, QueueEntry, decode_entry, written_entries


def test_a_checkpoint_comes_back_and_fills_a_page() -> None:
    for checkpoint in (Checkpoint(10_000, 9_000, 8_000, 7, 6), Checkpoint(10_000, 9_000, 8_000, 7, 6, 500, 400)):
        assert len(checkpoint.encode()) == CHECKPOINT_SIZE
        assert decode_checkpoint(checkpoint.encode()) == checkpoint
        assert (checkpoint.flushed_timestamp, checkpoint.recovery_timestamp) == (9_000, 6_000)


@pytest.mark.parametrize("times", [(0, 0, 0), (10_000, 9_000, 8_000)])
def test_a_checkpoint_of_rocketmq_stays_as_it_is(times: tuple[int, int, int]) -> None:
    theirs = struct.pack(">qqqqq", *times, 7, 6).ljust(CHECKPOINT_SIZE, b"\0")
    assert decode_checkpoint(theirs).encode() == theirs
    assert decode_checkpoint(theirs).flushed_offset is None


def test_a_checkpoint_vouches_by_place_for_what_has_its_own_store_time() -> None:
    checkpoint = Checkpoint(10_000, 9_000, 8_000, 0, 0, flushed_offset=500, index_offset=400)
    assert checkpoint.vouches_for(500, 9_000)
    assert not checkpoint.vouches_for(501, 9_000)
    assert not checkpoint.vouches_for(500, 9_001)
    assert checkpoint.vouches_for_index(400, 8_000)
    assert not checkpoint.vouches_for_index(401, 8_000)


def test_places_that_were_noted_at_other_times_are_not_believed() -> None:
    """RocketMQ writes its own fields and leaves the rest of the file as it is."""
    ours = Checkpoint(10_000, 9_000, 8_000, 0, 0, flushed_offset=500, index_offset=400).encode()
    theirs = decode_checkpoint(Checkpoint(11_000, 9_000, 8_000).encode()[:40] + ours[40:])
    assert (theirs.flushed_offset, theirs.index_offset) == (None, None)
    assert theirs.vouches_for(1 << 40, 8_999)
    assert not theirs.vouches_for(0, 9_000)
    assert theirs.vouches_for_index(1 << 40, 8_000)


def test_a_checkpoint_that_is_lowered_tells_whether_it_changed() -> None:
    checkpoint = Checkpoint(10_000, 9_000, 8_000, 0, 600, flushed_offset=500, index_offset=400)
    assert not checkpoint.lower(600, 10_000)
    assert checkpoint.lower(450, 8_500)
    assert checkpoint == Checkpoint(8_500, 8_500, 8_000, 0, 450, flushed_offset=450, index_offset=400)


@pytest.mark.parametrize("damaged", [b"", b"short", struct.pack(">qqqqq", -5, 1, 1, 0, 0), b"\x11" * 4096])
def test_a_damaged_checkpoint_promises_nothing(damaged: bytes) -> None:
    assert decode_checkpoint(damaged) == Checkpoint()


@pytest.mark.parametrize("count", [0, 1, 7, 49, 50])
def test_the_end_of_a_queue_file_is_its_first_empty_entry(count: int) -> None:
    data = b"".join(ENTRY.pack(n * 100, 100, n) for n in range(count)).ljust(1000, b"\0")
    assert written_entries(data) == count


def test_a_filler_is_written_but_is_no_message() -> None:
    assert decode_entry(FILLER).is_filler
    assert decode_entry(FILLER).is_written
    assert not QueueEntry(0, 100, 0).is_filler


def test_an_index_file_has_rocketmqs_size_and_places() -> None:
    assert index_file_size(5_000_000, 20_000_000) == 420_000_040
    assert entry_at(0, 5_000_000) == 20_000_040
    data = HEADER.pack(1, 2, 3, 4, 5, 2).ljust(index_file_size(2, 3), b"\0")
    assert decode_index_header(data).index_count == 2
    assert decode_index_entry(data, 1, 2).commit_offset == 0
    assert decode_index_header(bytes(40)).index_count == 1, "a fresh file counts from 1"


def test_an_ext_unit_comes_back_by_an_address_no_tag_has() -> None:
    unit = ExtUnit(2598919, 1_700_000_000_000, b"\x01\x80")
    assert decode_unit(encode_unit(unit)) == unit
    assert decode_unit(encode_unit(unit)[:-1]) is None
    assert is_ext_address(ext_address(0))
    assert ext_offset(ext_address(12345)) == 12345
    assert not is_ext_address(-(1 << 31))


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a.b", "x" * 256, "a\0"])
def test_a_name_that_is_no_topic_never_becomes_a_path(name: str, tmp_path: object) -> None:
    with pytest.raises(StoreError):
        topic_name(name)


def test_file_names_are_offsets() -> None:
    assert base_offset_of(file_name(1 << 30)) == 1 << 30
    assert base_offset_of("lost+found") is None


def test_several_log_folders_take_files_in_turn() -> None:
    layout = StoreConfig(store_path_root_dir="/s", store_path_commit_log="/a, /b").layout
    assert [str(layout.commit_log_file(n * 4096, 4096).parent) for n in range(3)] == ["/a", "/b", "/a"]
    assert Layout(layout.root).commit_log_dirs == (layout.root / "commitlog",)


def test_config_reads_rocketmqs_keys_and_names_the_bad_one() -> None:
    config = StoreConfig.from_properties(
        {"flushDiskType": "SYNC_FLUSH", "mappedFileSizeConsumeQueue": "1001", "deleteWhen": "04;16", "other": "x"}
    )
    assert config.flush_disk_type is FlushDiskType.SYNC_FLUSH
    assert config.mapped_file_size_consume_queue == 1020, "rounded up to whole entries"
    assert config.delete_hours == {4, 16}
    assert config.to_properties()["flushDiskType"] == "SYNC_FLUSH"
    assert config.delay_level_ms[17] == 7_200_000


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("maxMessageSize", "many"),
        ("flushDiskType", "NEVER"),
        ("diskMaxUsedSpaceRatio", "101"),
        ("maxIndexNum", "1"),
        ("transientStorePoolEnable", "maybe"),
        ("messageDelayLevel", "1s 5x"),
        ("deleteWhen", "25"),
    ],
)
def test_a_bad_value_names_its_key(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name):
        StoreConfig.from_properties({name: value})


def test_a_change_refuses_keys_it_does_not_know() -> None:
    assert StoreConfig().changed({"fileReservedTime": "24"}).file_reserved_time == 24
    with pytest.raises(ConfigError, match="rocketmqHome"):
        StoreConfig().changed({"rocketmqHome": "/tmp"})
