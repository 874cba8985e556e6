from __future__ import annotations

from pathlib import Path

import pytest

from sprocketmq.config import settings_of
from sprocketmq.errors import ConfigError
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.nameserver.settings import NameserverSettings


async def test_changes_outlive_a_restart(tmp_path: Path) -> None:
    config = NameserverConfig(config_store_path=tmp_path / "namesrv.properties")
    settings = NameserverSettings(config)
    settings.load()
    await settings.update({"orderMessageEnable": "true"})
    await settings.update({"scanNotActiveBrokerInterval": "100"})
    again = NameserverSettings(config)
    again.load()
    assert again.current.order_message_enable
    assert again.current.scan_not_active_broker_interval == 100
    assert "orderMessageEnable=true\n" in again.text()


def test_the_stored_file_cannot_set_what_may_not_be_changed(tmp_path: Path) -> None:
    path = tmp_path / "namesrv.properties"
    path.write_text("kvConfigPath=/etc/passwd\nunknown=1\nenableTopicList=false\n")
    settings = NameserverSettings(NameserverConfig(config_store_path=path))
    settings.load()
    assert settings.current.kv_config_path != Path("/etc/passwd")
    assert not settings.current.enable_topic_list


@pytest.mark.parametrize(
    "key", ["configStorePath", "kvConfigPath", "bindAddress", "adminAllowFrom", "logFile", "nosuch"]
)
async def test_paths_and_addresses_cannot_be_changed(tmp_path: Path, key: str) -> None:
    settings = NameserverSettings(NameserverConfig(config_store_path=tmp_path / "namesrv.properties"))
    with pytest.raises(ConfigError, match=key):
        await settings.update({"enableTopicList": "false", key: "/tmp/x"})
    assert settings.current.enable_topic_list, "all or nothing"
    assert not (tmp_path / "namesrv.properties").exists()


def test_nothing_that_can_be_changed_names_a_path_or_an_address() -> None:
    assert all(row.kind not in (str, Path) for row in settings_of(NameserverConfig).values() if row.runtime)


async def test_no_key_at_all() -> None:
    with pytest.raises(ConfigError, match="no key"):
        await NameserverSettings(NameserverConfig()).update({})


async def test_a_change_that_cannot_be_kept_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = NameserverSettings(NameserverConfig(config_store_path=tmp_path / "namesrv.properties"))

    def fail(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sprocketmq.remoting.running_settings.replace_file", fail)
    with pytest.raises(OSError, match="No space"):
        await settings.update({"enableTopicList": "false"})
    assert settings.current.enable_topic_list
