"""What a key of a broker's configuration means, as its table says it."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sprocketmq.config import Setting


def broker_settings() -> dict[str, Setting]:
    """Every key of a broker.conf."""
    from sprocketmq.broker.config import BrokerConfig
    from sprocketmq.config import settings_of
    from sprocketmq.store.config import StoreConfig
    from sprocketmq.store.config_meanings import MEANINGS

    store = {key: replace(row, doc=row.doc or MEANINGS[key]) for key, row in settings_of(StoreConfig).items()}
    return {**settings_of(BrokerConfig), **store}


def explain(key: str) -> dict[str, Any]:
    """Its meaning, type, default and bounds; ConfigError when there is no such key."""
    from sprocketmq.cli.nearest import did_you_mean
    from sprocketmq.errors import ConfigError

    settings = broker_settings()
    if key not in settings:
        meant = did_you_mean(key, settings)
        raise ConfigError(
            f"a broker has no setting {key}{meant or '.'} `sprocket broker config --explain all` lists all"
        )
    row = settings[key]
    choices = " | ".join(row.kind.__members__) if issubclass(row.kind, Enum) else ""
    return {
        "key": key,
        "meaning": row.doc,
        "type": choices or row.kind.__name__.lower(),
        "default": row.default.name if isinstance(row.default, Enum) else row.default,
        "at_least": row.low,
        "at_most": row.high,
        "while_running": row.runtime,
    }
