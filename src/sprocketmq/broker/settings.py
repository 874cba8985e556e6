"""The broker's configuration while it runs.

`current` and `store` are replaced as a whole: whoever reads one twice in one step sees one configuration. What was
changed is kept in `config/broker.properties`, a file of our own beside RocketMQ's, and outlives a restart. The file is
written beside the loop; a change counts when it is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from sprocketmq import config as table
from sprocketmq import logs
from sprocketmq.atomic_file import replace_file
from sprocketmq.broker.config import BrokerConfig
from sprocketmq.errors import ConfigError
from sprocketmq.properties_file import format_properties, parse_properties
from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.store.config import StoreConfig
from sprocketmq.store.files.files import Files

_STORE_KEYS = StoreConfig.runtime_keys()


class Settings:
    def __init__(self, config: BrokerConfig, store: StoreConfig, files: Files) -> None:
        self.current = config
        self.store = store
        self.version = DataVersion()
        self.on_change: list[Callable[[BrokerConfig], object]] = []
        self.on_store_change: list[Callable[[StoreConfig], object]] = []
        self._files = files
        self._path = store.layout.config / "broker.properties"
        self._changes: dict[str, str] = {}
        self._updating = asyncio.Lock()

    def load(self) -> None:
        """Apply what was changed in earlier runs; a key that may no longer be changed is left out."""
        if not self._files.exists(self._path):
            return
        entries = parse_properties(self._files.read_bytes(self._path).decode("utf-8", "replace"))
        kept = {key: text for key, text in entries.items() if is_runtime(key)}
        self._apply(kept, *self._changed(kept))

    def entries(self) -> dict[str, str]:
        """Every key and its value, as `getBrokerConfig` shows them; a secret is not shown."""
        return {key: table.shown(key, text) for key, text in self._entries().items()}

    def _entries(self) -> dict[str, str]:
        return table.to_properties(self.current) | self.store.to_properties()

    async def update(self, entries: Mapping[str, str], now_ms: int) -> None:
        """Change settings and keep the change on disk: all of them, or ConfigError and none."""
        if not entries:
            raise ConfigError("no key to change")
        async with self._updating:
            changed = self._changed(entries)
            await asyncio.to_thread(self._keep, {**self._changes, **entries})
            self.version = self.version.next(now_ms)
            self._apply(entries, *changed)

    def _changed(self, entries: Mapping[str, str]) -> tuple[BrokerConfig, StoreConfig]:
        """The configurations with `entries` applied."""
        known = self._entries()
        for key in entries:
            if key not in known:
                raise ConfigError(f"{key}: no such key")
            if not is_runtime(key):
                raise ConfigError(f"{key} cannot be changed while the broker runs")
        of_store = {key: text for key, text in entries.items() if key in _STORE_KEYS}
        of_broker = {key: text for key, text in entries.items() if key not in _STORE_KEYS}
        return table.changed(self.current, of_broker), self.store.changed(of_store)

    def _keep(self, changes: Mapping[str, str]) -> None:
        replace_file(self._path, format_properties(changes).encode(), self._files)

    def _apply(self, entries: Mapping[str, str], config: BrokerConfig, store: StoreConfig) -> None:
        self._changes |= entries
        if "logLevel" in entries:
            logs.set_level(config.log_level.value)
        if config != self.current:
            self.current = config
            for hook in self.on_change:
                hook(config)
        if store != self.store:
            self.store = store
            for store_hook in self.on_store_change:
                store_hook(store)


def is_runtime(key: str) -> bool:
    """Whether an admin call may change the key: none of these names a path, a command or an address."""
    rows = table.settings_of(BrokerConfig)
    return key in _STORE_KEYS or (key in rows and rows[key].runtime)
