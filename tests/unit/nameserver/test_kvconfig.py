from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sprocketmq.errors import ConfigError
from sprocketmq.nameserver.kvconfig import KVConfig


async def test_what_was_put_is_there_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "namesrv" / "kvConfig.json"
    kv = KVConfig(path)
    kv.load()
    await kv.put("ORDER_TOPIC_CONFIG", "订单", "broker-a:4")
    await kv.put("ORDER_TOPIC_CONFIG", "gone", "x")
    await kv.delete("ORDER_TOPIC_CONFIG", "gone")
    again = KVConfig(path)
    again.load()
    assert again.get("ORDER_TOPIC_CONFIG", "订单") == "broker-a:4"
    assert again.get("ORDER_TOPIC_CONFIG", "gone") is None
    assert again.entries("ORDER_TOPIC_CONFIG") == {"订单": "broker-a:4"}
    assert again.entries("other") is None
    assert [file.name for file in path.parent.iterdir()] == ["kvConfig.json"]


async def test_the_file_is_rocketmqs(tmp_path: Path) -> None:
    path = tmp_path / "kvConfig.json"
    path.write_text('{"configTable":{"ns":{"k":"v"}}}')
    kv = KVConfig(path)
    kv.load()
    await kv.put("ns", "k2", "v2")
    assert path.read_text() == '{\n\t"configTable":{\n\t\t"ns":{\n\t\t\t"k":"v",\n\t\t\t"k2":"v2"\n\t\t}\n\t}\n}'


def test_a_damaged_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "kvConfig.json"
    path.write_text('{"configTable":{"ns"')
    with pytest.raises(ConfigError, match=r"kvConfig\.json"):
        KVConfig(path).load()


async def test_deleting_what_is_not_there(tmp_path: Path) -> None:
    kv = KVConfig(tmp_path / "kvConfig.json")
    await kv.delete("ns", "key")
    assert kv.version == 0
    assert not (tmp_path / "kvConfig.json").exists()


async def test_what_cannot_be_kept_is_not_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kv = KVConfig(tmp_path / "kvConfig.json")
    await kv.put("ns", "k", "old")

    def fail(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("sprocketmq.nameserver.kvconfig.replace_file", fail)
        for change in (kv.put("ns", "k", "new"), kv.delete("ns", "k")):
            with pytest.raises(OSError, match="No space"):
                await change
    assert (kv.get("ns", "k"), kv.version) == ("old", 1)
    await kv.put("ns", "k", "newer")
    again = KVConfig(tmp_path / "kvConfig.json")
    again.load()
    assert again.get("ns", "k") == "newer"


async def test_changes_that_come_together_are_all_kept(tmp_path: Path) -> None:
    kv = KVConfig(tmp_path / "kvConfig.json")
    await asyncio.gather(*(kv.put("ns", f"k{number}", "v") for number in range(20)))
    again = KVConfig(tmp_path / "kvConfig.json")
    again.load()
    assert again.entries("ns") == {f"k{number}": "v" for number in range(20)}
