from __future__ import annotations

import pytest

from sprocketmq.cli.output.config_help import broker_settings, explain
from sprocketmq.config import settings_of
from sprocketmq.errors import ConfigError
from sprocketmq.store.config import StoreConfig
from sprocketmq.store.config_meanings import MEANINGS


def test_every_key_has_a_meaning() -> None:
    assert [key for key, row in broker_settings().items() if not row.doc] == []
    assert set(MEANINGS) <= set(settings_of(StoreConfig))


def test_one_key() -> None:
    row = explain("flushDiskType")
    assert (row["type"], row["default"], row["while_running"]) == ("ASYNC_FLUSH | SYNC_FLUSH", "ASYNC_FLUSH", False)
    with pytest.raises(ConfigError, match="did you mean flushDiskType"):
        explain("flushDiskTyp")
