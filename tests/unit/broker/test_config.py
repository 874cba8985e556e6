from __future__ import annotations

import pytest

from sprocketmq.broker.config import BrokerConfig, BrokerRole
from sprocketmq.config import from_properties, settings_of, to_properties, unknown_keys
from sprocketmq.errors import ConfigError
from sprocketmq.properties_file import parse_properties
from sprocketmq.store.config import StoreConfig

CONF = """
brokerClusterName = DefaultCluster
brokerName = broker-a
brokerId = 0
deleteWhen = 04
fileReservedTime = 48
brokerRole = ASYNC_MASTER
flushDiskType = ASYNC_FLUSH
namesrvAddr=10.0.0.1:9876;10.0.0.2:9876
sendMessageThreadPoolNums=4
"""


def test_the_file_that_rocketmq_ships() -> None:
    entries = parse_properties(CONF)
    config = from_properties(BrokerConfig, entries)
    assert (config.broker_name, config.broker_id, config.broker_role) == ("broker-a", 0, BrokerRole.ASYNC_MASTER)
    assert config.nameservers == ("10.0.0.1:9876", "10.0.0.2:9876")
    assert unknown_keys(entries, BrokerConfig, StoreConfig) == ["sendMessageThreadPoolNums"]


def test_broker_and_store_share_no_key() -> None:
    assert not settings_of(BrokerConfig).keys() & settings_of(StoreConfig).keys()


def test_nothing_that_can_be_changed_at_run_time_names_a_path_or_an_address() -> None:
    for row in settings_of(BrokerConfig).values():
        if row.runtime:
            assert row.kind is not str, row.key


def test_every_setting_is_explained_and_read_back() -> None:
    config = BrokerConfig()
    assert from_properties(BrokerConfig, to_properties(config)) == config
    assert all(row.doc.endswith(".") for row in settings_of(BrokerConfig).values())


@pytest.mark.parametrize(
    ("key", "value"),
    [("brokerRole", "KING"), ("brokerName", ""), ("brokerId", "-1"), ("listenPort", "x")],
)
def test_what_cannot_be_used_names_its_key(key: str, value: str) -> None:
    with pytest.raises(ConfigError, match=key):
        from_properties(BrokerConfig, {key: value})
