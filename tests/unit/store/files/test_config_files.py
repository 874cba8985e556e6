from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.stores import unpack

from sprocketmq.errors import StoreCorrupt
from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.store.files import config_files
from sprocketmq.store.files.config_files import ConfigFile, DelayOffsets, delay_offsets_file, json_file
from sprocketmq.store.files.disk import Disk

TYPED = (
    config_files.topics_file,
    config_files.subscription_groups_file,
    config_files.consumer_offsets_file,
    config_files.delay_offsets_file,
    config_files.consumer_filters_file,
)


@pytest.mark.parametrize("name", ["clean", "killed", "features"])
def test_what_rocketmq_wrote_is_written_back_byte_for_byte(name: str, tmp_path: Path) -> None:
    config = unpack(name, tmp_path).root / "config"
    for make in TYPED:
        theirs: ConfigFile[Any] = make(Disk(), config)
        ours: ConfigFile[Any] = make(Disk(), tmp_path / "ours")
        content = theirs.load()
        ours.save(content)
        assert ours.path.read_bytes() == theirs.path.read_bytes()
        assert ours.load() == content


@pytest.mark.parametrize(("name", "pretty"), [("consumerOrderInfo.json", True), ("transactionMetrics", False)])
def test_files_of_no_known_type_too(name: str, pretty: bool, tmp_path: Path) -> None:
    theirs = json_file(Disk(), unpack("features", tmp_path).root / "config" / name)
    ours = json_file(Disk(), tmp_path / name, pretty=pretty)
    content = theirs.load()
    assert content is not None
    ours.save(content)
    assert ours.path.read_bytes() == theirs.path.read_bytes()


def test_no_file_is_none_and_not_an_error(tmp_path: Path) -> None:
    assert delay_offsets_file(Disk(), tmp_path).load() is None


def version(counter: int) -> DelayOffsets:
    return DelayOffsets(offset_table={1: counter}, data_version=DataVersion(counter=counter))


def test_the_file_before_is_kept_and_used_when_the_file_is_damaged(tmp_path: Path) -> None:
    file = delay_offsets_file(Disk(), tmp_path)
    file.save(version(1))
    file.save(version(2))
    assert file.load() == version(2)
    for damage in (b"", b"{", b"[1]", b'{"offsetTable":7}', b"\0" * 40):
        file.path.write_bytes(damage)
        assert file.load() == version(1), damage
    file.path.unlink()
    assert file.load() == version(1)


def test_a_damaged_file_does_not_push_out_the_good_backup(tmp_path: Path) -> None:
    file = delay_offsets_file(Disk(), tmp_path)
    file.save(version(1))
    file.save(version(2))
    file.path.write_bytes(b"torn")
    file.save(version(3))
    file.path.unlink()
    assert file.load() == version(1)


@pytest.mark.parametrize("backup", [None, b"", b"{torn"])
def test_damage_in_both_is_an_error_that_names_the_path(backup: bytes | None, tmp_path: Path) -> None:
    file = delay_offsets_file(Disk(), tmp_path)
    file.path.write_bytes(b"")
    if backup is not None:
        file.backup.write_bytes(backup)
    with pytest.raises(StoreCorrupt, match=r"delayOffset\.json"):
        file.load()


def test_what_was_written_here_is_not_read_again_by_the_next_save(tmp_path: Path) -> None:
    """A large table takes seconds to read; one that somebody else has changed meanwhile is looked at."""
    read: list[bytes] = []
    plain = json_file(Disk(), tmp_path / "table.json")

    def decode(data: bytes) -> dict[str, Any]:
        read.append(data)
        return plain.decode(data)

    file = ConfigFile(Disk(), plain.path, decode, plain.encode)
    file.save({"a": 1})
    file.save({"a": 2})
    assert read == []
    file.path.write_bytes(b"{")
    file.save({"a": 3})
    assert read == [b"{"]
    assert plain.decode(file.backup.read_bytes()) == {"a": 1}, "what is damaged does not push out what is whole"
