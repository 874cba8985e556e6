from __future__ import annotations

from pathlib import Path

import pytest

from sprocketmq.errors import ConfigError
from sprocketmq.nameserver.kvconfig import KVConfig


def test_what_was_put_is_there_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "namesrv" / "kvConfig.json"
    kv = KVConfig(path)
    kv.load()
    kv.put("ORDER_TOPIC_CONFIG", "订单", "broker-a:4")
    kv.put("ORDER_TOPIC_CONFIG", "gone", "x")
    kv.delete("ORDER_TOPIC_CONFIG", "gone")
    again = KVConfig(path)
    again.load()
    assert again.get("ORDER_TOPIC_CONFIG", "订单") == "broker-a:4"
    assert again.get("ORDER_TOPIC_CONFIG", "gone") is None
    assert again.entries("ORDER_TOPIC_CONFIG") == {"订单": "broker-a:4"}
    assert again.entries("other") is None
    assert [file.name for file in path.parent.iterdir()] == ["kvConfig.json"]


def test_the_file_is_rocketmqs(tmp_path: Path) -> None:
    path = tmp_path / "kvConfig.json"
    path.write_text('{"configTable":{"ns":{"k":"v"}}}')
    kv = KVConfig(path)
    kv.load()
    kv.put("ns", "k2", "v2")
    assert path.read_text() == '{\n\t"configTable":{\n\t\t"ns":{\n\t\t\t"k":"v",\n\t\t\t"k2":"v2"\n\t\t}\n\t}\n}'


def test_a_damaged_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "kvConfig.json"
    path.write_text('{"configTable":{"ns"')
    with pytest.raises(ConfigError, match=r"kvConfig\.json"):
        KVConfig(path).load()


def test_deleting_what_is_not_there(tmp_path: Path) -> None:
    kv = KVConfig(tmp_path / "kvConfig.json")
    kv.delete("ns", "key")
    assert kv.version == 0
    assert not (tmp_path / "kvConfig.json").exists()
